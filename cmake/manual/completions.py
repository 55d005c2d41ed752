"""Completions for bash, zsh and fish, from what help_text.py has read."""

import re

# What a value or an argument is, by the name that the help gives it.
_FILES = {"FILE", "PATH", "WRITE", "file", "[=FILE"}
_FILE_ARGUMENTS = {"A", "file"}
_FOLDERS = {"FOLDER", "RESULTS"}


def _quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def _function(program):
    return "_" + program.name.replace("-", "_")


def _kind(name):
    """file, folder, program, or empty."""
    name = re.sub(r"[.\[\] ]*$", "", name)
    return "file" if name in _FILES else "folder" if name in _FOLDERS else "program" if name == "PROGRAM" else ""


def _argument_kind(command):
    """Of what stands where there is no option. `cleave run` names its program in the usage alone."""
    for name, _ in command.positionals:
        return "file" if name in _FILE_ARGUMENTS else _kind(name)
    return "program" if "PROGRAM" in command.usage else ""


def _becomes_program(command):
    """Whether all words from its first argument on are another program's."""
    return "PROGRAM [ARGUMENTS" in command.usage


# --- bash

_BASH = """\
# bash completion for {name}. Made from its --help.
{function}() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}} path={name} i
  COMPREPLY=()
  # bash takes "=" for a word of its own.
  if [[ $current == = ]]; then
    current=
  elif [[ $previous == = ]]; then
    previous=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$path ${{COMP_WORDS[i]}}" in
{descend}
    esac
  done
  [[ $i -lt $COMP_CWORD ]] || case "$path $previous" in
{values}
  esac
  if [[ $current == -* && $i -ge $COMP_CWORD ]]; then
    case $path in
{options}
    esac
    return
  fi
  case $path in
{arguments}
  esac
}} && complete -F {function} {name}
"""


_BASH_KINDS = {
    "file": 'compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$current")',
    "folder": 'compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$current")',
    "program": 'compopt -o filenames; mapfile -t COMPREPLY < <(compgen -c -- "$current"; compgen -d -- "$current")',
    "": ":",
}


def _bash_words(words):
    space = "compopt -o nospace; " if any(word.endswith(":") for word in words) else ""
    return f'{space}mapfile -t COMPREPLY < <(compgen -W {_quoted(" ".join(words))} -- "$current")'


def _bash_case(patterns, action):
    return [f"      {' | '.join(_quoted(each) for each in patterns)}) {action} ;;"] if patterns else []


def _bash_program():
    words = _BASH_KINDS["program"]
    return f'if declare -F _command_offset >/dev/null; then _command_offset "$i"; else {words}; fi'


def bash(program):
    everything = list(program.all())
    children = [child.name for command in everything for child in command.commands]
    taking = [f"{command.name} {name}" for command in everything for option in command.options if option.needs_value
              for name in option.names]
    descend = _bash_case(children, 'path+=" ${COMP_WORDS[i]}"')
    descend += _bash_case(taking, "[[ ${COMP_WORDS[i + 1]} == = ]] && ((i++)); ((i++))")
    for command in filter(_becomes_program, everything):
        descend += [f"      {_quoted(command.name + ' -')}*) [[ ${{COMP_WORDS[i]}} == -- ]] && {{ ((i++)); break; }} ;;",
                    f"      {_quoted(command.name + ' ')}*) break ;;"]
    values, options, arguments = [], [], []
    for command in everything:
        for option in filter(lambda each: each.value, command.options):
            words = option.choices()
            action = _bash_words(words) if words else _BASH_KINDS[_kind(option.value)]
            names = [f"{command.name} {name}" for name in option.names]
            if option.needs_value:
                values += _bash_case(names, f"{action}; return")
        names = [name for option in command.options for name in option.names]
        words = [child.words[-1] for child in command.commands]
        options += _bash_case([command.name], _bash_words(names))
        action = _bash_words(words) if words else _BASH_KINDS[_argument_kind(command)]
        arguments += _bash_case([command.name], _bash_program() if _becomes_program(command) else action)
    return _BASH.format(name=program.name, function=_function(program), descend="\n".join(descend), values="\n".join(values),
                        options="\n".join(options), arguments="\n".join(arguments))


# --- zsh

_ZSH_KINDS = {"file": "_files", "folder": "_files -/", "program": "_command_names -e", "": " "}


def _zsh_text(text):
    return re.sub(r"([\[\]:\\])", r"\\\1", text)


def _zsh_option(option):
    words = option.choices()
    action = f"({' '.join(_zsh_text(word) for word in words)})" if words else _ZSH_KINDS[_kind(option.value)]
    value = _zsh_text(option.value.strip("[=]")) or " "
    text = f"[{_zsh_text(option.text)}]"
    alone = "(- *)" if {"--help", "--version"} & set(option.names) else ""
    forms = []
    for name in option.names:
        tail = f"=-{text}::{value}:{action}" if option.value.startswith("[=") else \
            f"{'=' if name.startswith('--') else ''}{text}:{value}:{action}" if option.value else text
        forms.append(_quoted(f"{alone or '*'}{name}{tail}"))
    return forms


def _zsh_function(command):
    function = "_" + "_".join(command.words).replace("-", "_")
    lines = [f"{function}() {{"]
    forms = [form for option in command.options for form in _zsh_option(option)]
    if command.commands:
        lines += ["  local context state state_descr line", "  typeset -A opt_args",
                  f"  _arguments -C {' '.join(forms)} '1:command:->command' '*::argument:->argument'", "  case $state in",
                  "    command)", "      local -a commands=("]
        lines += [f"        {_quoted(_zsh_text(child.words[-1]) + ':' + child.summary)}" for child in command.commands]
        lines += ["      )", "      _describe command commands", "      ;;", "    argument)", "      case $words[1] in"]
        lines += [f"        {child.words[-1]}) {function}_{child.words[-1].replace('-', '_')} ;;" for child in command.commands]
        lines += ["      esac", "      ;;", "  esac"]
    else:
        rest = {"program": "'(-)1:program:_command_names -e' '*::arguments:_normal'", "file": "'*:file:_files'", "": "'*: : '"}
        lines.append(f"  _arguments {' '.join(forms)} {rest[_argument_kind(command)]}")
    return "\n".join([*lines, "}"])


def zsh(program):
    functions = [_zsh_function(command) for command in program.all()]
    head = f"#compdef {program.name}\n# zsh completion for {program.name}. Made from its --help."
    return "\n\n".join([head, *functions, f'{_function(program)} "$@"']) + "\n"


# --- fish

_FISH = """\
# fish completion for {name}. Made from its --help.
function _{function}_path
    set -l path {name}
    for word in (commandline -opc)[2..]
        switch "$path $word"
            case {children}
                set path "$path $word"
        end
    end
    echo $path
end
"""

# Behind the options of `cleave run`.
_FISH_PROGRAM = """\
function _{function}_program
    set -l words (commandline -opc)
    set -l skip {first}
    while test $skip -lt (count $words)
        switch $words[(math $skip + 1)]
            case --
                set skip (math $skip + 1)
                break
            case {taking}
                set skip (math $skip + 2)
            case '-*'
                set skip (math $skip + 1)
            case '*'
                break
        end
    end
    __fish_complete_subcommand --fcs-skip=$skip
end
"""

_FISH_KINDS = {"file": "-r -F", "folder": "-x -a '(__fish_complete_directories)'", "program": "-r -F", "": "-x"}


def fish(program):
    function = _function(program)
    children = [child.name for command in program.all() for child in command.commands]
    lines = [_FISH.format(name=program.name, function=function, children=" ".join(map(_quoted, children)) or "''")]
    for command in program.all():
        here = f"complete -c {program.name} -n 'test (_{function}_path) = \"{command.name}\"'"
        for child in command.commands:
            lines.append(f"{here} -f -a {child.words[-1]} -d {_quoted(child.summary)}")
        if _becomes_program(command):
            taking = [_quoted(name) for option in command.options if option.needs_value for name in option.names]
            lines.insert(1, _FISH_PROGRAM.format(function=function, first=len(command.words), taking=" ".join(taking)))
            lines.append(f"{here} -x -a '(_{function}_program)'")
        elif _argument_kind(command) == "program":
            lines.append(f"{here} -x -a '(__fish_complete_command)'")
        elif not _argument_kind(command):
            lines.append(f"{here} -f")
        for option in command.options:
            names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
            words = option.choices()
            value = f"-x -a {_quoted(' '.join(words))}" if words else _FISH_KINDS[_kind(option.value)]
            value = value if option.needs_value else ""
            lines.append(f"{here} {names} {value} -d {_quoted(option.text)}".replace("  ", " "))
    return "\n".join(lines) + "\n"
