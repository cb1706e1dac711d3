"""Certificates for tests: an authority that nobody else trusts, and what it signs."""

import dataclasses
import datetime
import ipaddress
import pathlib
import ssl

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

HOUR = datetime.timedelta(hours=1)


@dataclasses.dataclass
class Identity:
    """A certificate and its key, as files in PEM form."""

    certificate: pathlib.Path
    key: pathlib.Path

    def install_as(self, other):
        """Takes the place of another: first one file, then the other, as tools do it."""
        for mine, theirs in ((self.certificate, other.certificate), (self.key, other.key)):
            fresh = theirs.with_name(".fresh-" + theirs.name)
            fresh.write_bytes(mine.read_bytes())
            fresh.rename(theirs)


class Authority:
    """Signs certificates; `.file` is its own."""

    def __init__(self, folder, name="authority"):
        self.folder = pathlib.Path(folder, name)
        self.folder.mkdir(parents=True)
        self.file = self.folder / "ca.pem"
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        certificate = self._sign(self.name, self.key, HOUR, [(x509.BasicConstraints(True, None), True)])
        self.file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def issue(self, file_name, uris=(), hosts=(), addresses=(), common_name="somebody", ends_in=HOUR):
        key = ec.generate_private_key(ec.SECP256R1())
        names = [*map(x509.UniformResourceIdentifier, uris), *map(x509.DNSName, hosts),
                 *(x509.IPAddress(ipaddress.ip_address(one)) for one in addresses)]
        extensions = [(x509.SubjectAlternativeName(names), False)] if names else []
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, common_name)])
        certificate = self._sign(subject, key, ends_in, extensions)
        identity = Identity(self.folder / f"{file_name}.pem", self.folder / f"{file_name}.key")
        identity.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        identity.key.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                                                   serialization.NoEncryption()))
        return identity

    def for_servers(self, file_name="server", **more):
        """For the loopback."""
        return self.issue(file_name, hosts=["localhost"], addresses=["127.0.0.1"], **more)

    def trusting(self, own=None):
        """An ssl.SSLContext of a client that trusts this authority and shows the certificate `own`."""
        context = ssl.create_default_context(cafile=str(self.file))
        if own:
            context.load_cert_chain(own.certificate, own.key)
        return context

    def _sign(self, subject, key, ends_in, extensions):
        now = datetime.datetime.utcnow()
        builder = (x509.CertificateBuilder().subject_name(subject).issuer_name(self.name).public_key(key.public_key())
                   .serial_number(x509.random_serial_number()).not_valid_before(now - 24 * HOUR)
                   .not_valid_after(now + ends_in))
        for extension, is_critical in extensions:
            builder = builder.add_extension(extension, is_critical)
        return builder.sign(self.key, hashes.SHA256())
