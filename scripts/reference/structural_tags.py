"""Goldens of structural tags as trees of formats:  python scripts/reference/structural_tags.py

test/golden/structural-tags.json: of each format, which of the texts xgrammar takes as a whole.
"""

import json
from importlib.metadata import version
from pathlib import Path

import xgrammar

GOLDEN = Path(__file__).resolve().parents[2] / 'test' / 'golden'

INTEGER = {'type': 'json_schema', 'json_schema': {'type': 'integer'}}
ANY = {'type': 'any_text'}
X = {'type': 'const_string', 'value': 'x'}


def tag(begin='<a>', content=INTEGER, end='</a>'):
    return {'type': 'tag', 'begin': begin, 'content': content, 'end': end}


def triggered(triggers, tags, **more):
    return {'type': 'triggered_tags', 'triggers': triggers, 'tags': tags, **more}


def separated(**more):
    return {'type': 'tags_with_separator', 'separator': ', ', 'tags': [tag(), tag('<b>', X, '</b>')], **more}


def sequence(*elements):
    return {'type': 'sequence', 'elements': list(elements)}


def dispatch(**more):
    return {'type': 'dispatch', 'rules': [['<a>', INTEGER], ['<b>', X]], **more}


POINT = {
    'type': 'json_schema',
    'json_schema': {
        'type': 'object',
        'properties': {'at': {'type': 'array', 'items': {'type': 'integer'}, 'minItems': 2, 'maxItems': 2}},
        'required': ['at'],
        'additionalProperties': False,
    },
}
GRAMMAR = {'type': 'grammar', 'grammar': 'root ::= "(" root ")" | "x"'}
LETTERS = {'type': 'regex', 'pattern': '[ab]{2,3}'}
FREE = ['', 'hi', 'hi<', 'hi<a', 'hi<b', '<a>5</a>', 'hi<a>5</a>', 'hi<a>5</a>bye', '<a>5</a><a>-6</a>', '<a>x</a>', '<a>5</a>no']
INSIDE = ['<a></a>', '<a>5</a>', '<a>x</a>', '<a>5x</a>', '<a>5</a></a>', '<a>x</a>y</a>', '<a>x', 'x', '<a>x<b>5</b>y</a>']
LISTED = ['', '<a>5</a>', '<a>5</a>, <b>x</b>', '<a>5</a>, <b>x</b>, <a>7</a>', '<a>5</a>, ', '<a>5</a><b>x</b>', ', ']
SENT = ['', 'q', 'q<a>5', 'q<a>5z', '<b>x<a>6', '<b>y', '<b>xno', 'no']
CASES = [
    (X, ['x', '', 'xx', 'y']),
    (LETTERS, ['ab', 'aba', 'a', 'abab', 'ac']),
    (GRAMMAR, ['x', '((x))', '((x)', '()']),
    (POINT, ['{"at": [1, 2]}', '{"at": [1]}', '{}', '{"at": [1, 2], "b": 1}']),
    (ANY, ['', 'é x\n']),
    ({**ANY, 'excludes': ['no', 'nd']}, ['', 'n', 'on', 'no', 'a no', 'end', 'nnnd']),
    ({**ANY, 'max_chars': 3}, ['', 'abc', 'ééé', 'abcd']),
    (tag(), INSIDE),
    (tag(content=ANY), INSIDE),
    (tag(content={**ANY, 'excludes': ['x']}), INSIDE),
    (tag(content=ANY, end=['</a>', '</b>']), [*INSIDE, '<a>x</b>', '<a>x</b></a>']),
    (tag(content=ANY, end=['', '</a>']), ['<a>x', '<a>x</a>', 'x']),
    (tag(content={'type': 'or', 'elements': [INTEGER, ANY]}), INSIDE),
    (tag(content={'type': 'optional', 'content': ANY}), INSIDE),
    (tag(content=sequence(INTEGER, ANY)), INSIDE),
    (tag(content=LETTERS), ['<a>ab</a>', '<a>a</a>']),
    (tag(content={'type': 'regex', 'pattern': '.*'}), INSIDE),
    (tag(content=triggered(['<b'], [tag('<b>', INTEGER, '</b>')])), INSIDE),
    (tag(content=dispatch()), [*INSIDE, '<a>q<b>x</a>']),
    (sequence(X, INTEGER, X), ['x5x', 'x-12x', 'xx', 'x5']),
    (sequence(ANY, X), ['x', 'ax', 'axbx', 'a', 'xa']),
    (sequence({**ANY, 'excludes': ['x']}, X), ['x', 'ax', 'axbx', 'a', 'xa']),
    ({'type': 'or', 'elements': [X, LETTERS]}, ['x', 'ab', 'xab', '']),
    ({'type': 'optional', 'content': X}, ['', 'x', 'xx']),
    ({'type': 'plus', 'content': X}, ['', 'x', 'xx']),
    ({'type': 'star', 'content': LETTERS}, ['', 'ab', 'abab', 'a']),
    ({'type': 'repeat', 'min': 1, 'max': 2, 'content': X}, ['', 'x', 'xx', 'xxx']),
    ({'type': 'repeat', 'min': 2, 'max': -1, 'content': X}, ['x', 'xx', 'xxxxx']),
    (triggered(['<a'], [tag()]), FREE),
    (triggered(['<a'], [tag()], excludes=['no']), FREE),
    (triggered(['<a'], [tag()], at_least_one=True), FREE),
    (triggered(['<a'], [tag()], stop_after_first=True), FREE),
    (triggered(['<a'], [tag()], at_least_one=True, stop_after_first=True), FREE),
    (triggered(['<a', '<b'], [tag(), tag('<b>', X, '')]), [*FREE, '<b>x', '<b>x<a>1</a>', '<b>y']),
    (separated(), LISTED),
    (separated(at_least_one=True), LISTED),
    (separated(stop_after_first=True), LISTED),
    (separated(at_least_one=True, stop_after_first=True), LISTED),
    (dispatch(), SENT),
    (dispatch(loop=False), SENT),
    (dispatch(excludes=['no']), SENT),
]

# One token a byte, and one that ends.
BYTES = [bytes([i]) for i in range(256)]


def main():
    end = len(BYTES)
    tokenizer = xgrammar.TokenizerInfo([*BYTES, b'</s>'], stop_token_ids=[end])
    compiler = xgrammar.GrammarCompiler(tokenizer)

    def takes(grammar, text):
        matcher = xgrammar.GrammarMatcher(grammar)
        return matcher.accept_string(text) and matcher.accept_token(end)

    cases = []
    for form, texts in CASES:
        grammar = compiler.compile_structural_tag(json.dumps({'type': 'structural_tag', 'format': form}))
        cases.append({'format': form, 'texts': {text: takes(grammar, text) for text in texts}})
    golden = {'made by': f'scripts/reference/structural_tags.py, xgrammar {version("xgrammar")}', 'cases': cases}
    (GOLDEN / 'structural-tags.json').write_text(json.dumps(golden, ensure_ascii=False, indent=1) + '\n')


if __name__ == '__main__':
    main()
