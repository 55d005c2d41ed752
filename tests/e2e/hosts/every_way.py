"""A program by every way into Cleave: the faces, and through a server."""

from support.options import VENDOR
from support.programs import driver_icd
from support.remote import RemoteTest

LOCALLY = ("preload", "layer", "run", "vendor")


class EveryWayTest(RemoteTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        server = cls.new_server("server", environment=cls.environment())
        cls.addClassCleanup(server.stop)
        cls.server = server

    def run_by(self, way, *command, **settings):
        """By one of LOCALLY, or `native`, or a transport of the server's."""
        settings = {"CLEAVE_REGISTRY": self.own_folder(), "CLEAVE_STATS": "", "CLEAVE_SPLIT": "fixed:7"} | settings
        if way in self.server.addresses:
            return self.run_remotely("native", self.server.addresses[way], *command, **settings)
        if way == "vendor":
            return self.run_program("native", *command, OCL_ICD_VENDORS=self.vendors("cleave", cleave=VENDOR),
                                    CLEAVE_ICD_WRAP=driver_icd(), **settings)
        return self.run_program(way, *command, **settings)

    def ways(self):
        return (*LOCALLY, *self.server.addresses)
