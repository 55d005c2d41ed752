"""OpenMM: molecular dynamics of a molten salt with long-range electrostatics (PME). A unit is some steps from the same state.

The sums of forces depend on the order in which the device adds them up, so the energy after the steps is compared within a tolerance, not
bit by bit.
"""

import math

import role

SPACING = 0.3  # nm
STEPS = 50
TOLERANCE, OF_FORCES = 1e-4, 1e-3  # of the energy, and of the largest force


def salt(openmm, edge):
    """Ions of alternating charge on a lattice, which are moved a little, each by its own place."""
    system, force, places = openmm.System(), openmm.NonbondedForce(), []
    length = edge * SPACING
    system.setDefaultPeriodicBoxVectors((length, 0, 0), (0, length, 0), (0, 0, length))
    for i in range(edge ** 3):
        x, y, z = i % edge, i // edge % edge, i // edge // edge
        system.addParticle(30)
        force.addParticle(1 if (x + y + z) % 2 else -1, 0.28, 0.4)
        places.append([SPACING * (at + 0.05 * math.sin(12.9898 * i + axis)) for axis, at in enumerate((x, y, z))])
    force.setNonbondedMethod(openmm.NonbondedForce.PME)
    force.setCutoffDistance(0.9)
    system.addForce(force)
    return system, places


def platform_of(openmm, given):
    try:
        platform = openmm.Platform.getPlatformByName("OpenCL")
    except openmm.OpenMMException as why:
        raise role.Unavailable(f"OpenMM has no OpenCL platform: {why}") from why
    import pyopencl
    index = next((i for i, each in enumerate(pyopencl.get_platforms()) if given.platform in each.name), None)
    if index is None:
        raise role.Unavailable(f"no OpenCL platform with {given.platform!r} in its name")
    return platform, {"OpenCLPlatformIndex": str(index), "Precision": "mixed"}


def prepared(openmm, edge, platform, properties):
    system, places = salt(openmm, edge)
    integrator = openmm.VerletIntegrator(0.001)
    context = openmm.Context(system, integrator, platform, properties)
    context.setPositions(places)
    return integrator, context


def prepare(given):
    import numpy
    import openmm

    edge, steps = (8, 5) if given.quick else (32, STEPS)
    platform, properties = platform_of(openmm, given)
    integrator, context = prepared(openmm, edge, platform, properties)
    context.setVelocitiesToTemperature(1000, 7)
    start = context.createCheckpoint()

    def unit(_):
        context.loadCheckpoint(start)
        integrator.step(steps)
        return context.getState(getEnergy=True).getPotentialEnergy()._value

    def same(energy, first):
        return abs(energy / first - 1) < TOLERANCE

    def right(_):
        """On the same platform, energy and forces of a system that is small enough for the reference platform."""
        ways = ((platform, properties), (openmm.Platform.getPlatformByName("Reference"), {}))
        found, expected = (prepared(openmm, min(edge, 12), *way)[1].getState(getEnergy=True, getForces=True) for way in ways)
        forces, of = (each.getForces(asNumpy=True)._value for each in (found, expected))
        energies = (each.getPotentialEnergy()._value for each in (found, expected))
        return same(*energies) and numpy.abs(forces - of).max() < OF_FORCES * numpy.abs(of).max()

    return role.Units(platform.getPropertyValue(context, "DeviceName"), unit, same=same, right=right, values=list)


if __name__ == "__main__":
    role.main(prepare, ("numpy", "openmm", "pyopencl"))
