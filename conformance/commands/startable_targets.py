"""What `start` can start: targets of the registry, and scripted brokers, with the listeners and ports that a user wants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import click

from conformance.commands.errors import UnknownName
from conformance.commands.selection import selected_target
from conformance.failures.drawn_values import UnreadableValues, read_values
from fixtures.kafka_setup.broker_properties import with_secured_controllers
from fixtures.launchers.scripted import scripted_target
from fixtures.registry.targets import Target, nearest_names
from reference_model.clients.scripts.named_scripts import NAMED_SCRIPTS, SCRIPTED, scripted_name
from reference_model.clients.scripts.script import Script
from reference_model.profiles.listeners import PLAINTEXT


def target_named(text: str) -> Target:
    """Return the target that an argument names.

    Args:
        text: an id of the registry, "scripted+NAME", "scripted" for the healthy one, or the `repr` of a script.

    Raises:
        UnknownName: there is no such target or script.
        InvalidFile: a file of the registry does not follow its schema.
        click.UsageError: the text is a glob that names several targets, or no script that can be read.
    """
    if text.startswith("Script("):
        return scripted_target(_script(text))
    script = scripted_name(text)
    if script is not None:
        return _named_script(script)
    return selected_target(text)


def _named_script(name: str) -> Target:
    if name not in NAMED_SCRIPTS:
        raise UnknownName(
            f"no script is named {name!r}; {nearest_names(name, NAMED_SCRIPTS)}"
            "`kafka-conformance start --help` lists all"
        )
    return scripted_target(NAMED_SCRIPTS[name].script, name)


def _script(text: str) -> Script:
    try:
        script = read_values(f"{{'script': {text}}}")["script"]
    except UnreadableValues as error:
        raise click.UsageError(f"the script cannot be read: {error}") from error
    assert isinstance(script, Script)
    return script


def with_listeners(target: Target, wanted: Sequence[str]) -> Target:
    """Return a target with the wanted listeners, and the plaintext one, which shows when it is ready; with all if none is wanted.

    Raises:
        click.UsageError: it does not have them.
    """
    if not wanted:
        return target
    if SCRIPTED in target.launchers:
        if len(wanted) > 1:
            raise click.UsageError("a scripted broker has one listener; give --listener once")
        script = replace(target.launchers[SCRIPTED]["script"], listener=wanted[0])
        return scripted_target(script, target.id.partition("+")[2])
    target = with_secured_controllers(target, wanted)
    missing = [name for name in wanted if name not in target.listeners]
    if missing:
        raise click.UsageError(
            f"{target.id} has no listener {', '.join(missing)}; it has {', '.join(target.listeners)}"
        )
    needed = (name for name in target.listeners if name in (PLAINTEXT, *wanted))
    return replace(target, listeners=tuple(needed))


def with_ports(target: Target, texts: Sequence[str], first: str) -> Target:
    """Return a target with fixed ports.

    Args:
        target: the target.
        texts: each "PORT" or "LISTENER=PORT".
        first: the listener that a port without a name belongs to.

    Raises:
        click.UsageError: a text has another form, or names a listener that the target does not have.
    """
    ports = {}
    for text in texts:
        listener, _, port = text.rpartition("=")
        name = listener or first
        if name not in target.listeners or not port.isdecimal() or not 0 < int(port) < 65_536:
            raise click.UsageError(
                f"--port {text} is not [LISTENER=]PORT; listeners: {', '.join(target.listeners)}"
            )
        ports[name] = int(port)
    return replace(target, fixed_ports=ports)
