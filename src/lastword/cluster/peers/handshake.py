"""How two peers prove to each other that they know the secret, which never crosses the wire.

    listener   challenge: a nonce
    caller     hello: application, both instance ids, a nonce; and a proof over all of these
    listener   welcome: a proof of its own, or the reason for a refusal

The caller proves first, so a stranger learns nothing that helps to guess the secret. A proof covers
both nonces and both names: it is valid for one connection, one direction and one pair of peers.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from enum import IntEnum

import msgspec

from lastword.errors import PeerRefusedError, PeerUnreachableError

NONCE_BYTES = 32
PROOF_BYTES = hashlib.sha256().digest_size
_MAGIC = b"lastword-peer-1 "
_CALLER = b"caller:"
_LISTENER = b"listener:"


class Refusal(IntEnum):
    """Why a listener refuses a caller."""

    SECRET = 1
    SOMEBODY_ELSE = 2
    FULL = 3


class Hello(msgspec.Struct, frozen=True):
    """The caller and the listener it wants to reach."""

    application: str
    caller: str
    listener: str
    nonce: str


def challenge() -> bytes:
    """A new challenge."""
    return _MAGIC + secrets.token_bytes(NONCE_BYTES)


def is_challenge(frame: bytes) -> bool:
    """Whether the frame is the challenge of a Lastword peer with a known version."""
    return frame.startswith(_MAGIC) and len(frame) == len(_MAGIC) + NONCE_BYTES


def hello(secret: bytes, challenge: bytes, application: str, caller: str, listener: str) -> bytes:
    """The answer to a challenge."""
    said = msgspec.json.encode(Hello(application, caller, listener, secrets.token_hex(NONCE_BYTES)))
    return _proof(secret, _CALLER, challenge, said) + said


def judge_hello(
    secret: bytes, challenge: bytes, frame: bytes, application: str, me: str
) -> Refusal | Hello:
    """The caller's hello, or the reason to refuse it."""
    proof, said = frame[:PROOF_BYTES], frame[PROOF_BYTES:]
    if not hmac.compare_digest(proof, _proof(secret, _CALLER, challenge, said)):
        return Refusal.SECRET
    try:
        caller = msgspec.json.decode(said, type=Hello)
    except msgspec.DecodeError:
        return Refusal.SECRET
    if (caller.application, caller.listener) != (application, me):
        return Refusal.SOMEBODY_ELSE
    return caller


def welcome(secret: bytes, challenge: bytes, hello_frame: bytes) -> bytes:
    """The listener's proof for a caller whose hello was accepted."""
    return _proof(secret, _LISTENER, challenge, hello_frame[PROOF_BYTES:])


def refusal(reason: Refusal) -> bytes:
    """The frame that tells a caller why it is refused."""
    return bytes((reason,))


def judge_welcome(secret: bytes, challenge: bytes, hello_frame: bytes, frame: bytes) -> None:
    """Raise PeerRefusedError unless the listener knows the secret and accepted the caller."""
    if hmac.compare_digest(frame, welcome(secret, challenge, hello_frame)):
        return
    if frame == refusal(Refusal.SOMEBODY_ELSE):
        raise SomebodyElseError("another instance listens at this address now")
    if frame == refusal(Refusal.FULL):
        raise PeerUnreachableError(
            "it already has its maximum number of connections", hint="try again in a moment"
        )
    raise PeerRefusedError(
        "the two instances have different peer secrets",
        hint="give every instance of the application the same secret, or the same home directory",
    )


class SomebodyElseError(PeerUnreachableError):
    """Another instance than the requested one listens at this address."""


def _proof(secret: bytes, role: bytes, challenge: bytes, said: bytes) -> bytes:
    return hmac.digest(secret, role + challenge + said, "sha256")
