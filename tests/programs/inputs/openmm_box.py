"""OpenMM: a few steps of a box of charged particles with particle mesh Ewald; prints the energies and a digest of the
positions."""

import hashlib

import numpy
import openmm
from openmm import unit

SIDE, COUNT = 3.0, 6  # nanometres, particles along each edge

system = openmm.System()
system.setDefaultPeriodicBoxVectors(*(openmm.Vec3(*row) for row in numpy.eye(3) * SIDE))
forces = openmm.NonbondedForce()
forces.setNonbondedMethod(openmm.NonbondedForce.PME)
forces.setCutoffDistance(1.0)
bonds = openmm.HarmonicBondForce()
generator = numpy.random.default_rng(1)
positions = []
for index in range(COUNT**3):
    place = numpy.array([index // COUNT**2, index // COUNT % COUNT, index % COUNT]) * SIDE / COUNT
    for charge in (0.3, -0.3):
        particle = system.addParticle(20.0)
        forces.addParticle(charge, 0.2, 0.5)
        positions.append(place + generator.normal(0, 0.01, 3) + (0.1 if charge < 0 else 0))
    forces.addException(particle - 1, particle, 0, 1, 0)
    bonds.addBond(particle - 1, particle, 0.17, 1000.0)
system.addForce(forces)
system.addForce(bonds)
integrator = openmm.LangevinMiddleIntegrator(300 * unit.kelvin, 1 / unit.picosecond, 0.001 * unit.picoseconds)
integrator.setRandomNumberSeed(1)
properties = {"Precision": "single", "DeterministicForces": "true"}
context = openmm.Context(system, integrator, openmm.Platform.getPlatformByName("OpenCL"),
                         {name: value for name, value in properties.items()
                          if name in openmm.Platform.getPlatformByName("OpenCL").getPropertyNames()})
context.setPositions(positions)
for _ in range(2):
    integrator.step(5)
    state = context.getState(getEnergy=True, getPositions=True)
    print(state.getPotentialEnergy(), state.getKineticEnergy())
    print(hashlib.sha256(state.getPositions(asNumpy=True)._value.tobytes()).hexdigest())
