// Damage to tokenizers and chat templates: ids, merges, expressions that take for ever, templates that never end.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withMember } from './mutate-json.mjs';

const split = (pattern) => ({
  type: 'Split',
  pattern: { Regex: pattern },
  behavior: 'Isolated',
  invert: false,
});
/** JSON that is nested too deeply for JSON.stringify, so it is made as text. */
const nested = (depth, type, list) =>
  `${`{"type": "Sequence", "${list}": [`.repeat(depth)}{"type": "${type}"}${']}'.repeat(depth)}`;

/** The vocabulary's entry for one token in the middle; `null` where it is a list (Unigram). */
function anyToken(json, random) {
  return random.pick(Object.keys(json.model.vocab));
}

const idOf = (value) => (json, random) => {
  const token = anyToken(json, random);
  return { path: ['model', 'vocab', token], value };
};
const added = (member, value) => (json) =>
  json.added_tokens.length === 0
    ? {
        path: ['added_tokens'],
        value: JSON.stringify([{ id: 0, content: 'x', special: true, [member]: null }]),
      }
    : { path: ['added_tokens', 0, member], value };
const at = (path, value) => () => ({
  path,
  value: typeof value === 'string' ? value : JSON.stringify(value),
});

/** Another way to cut a text into pieces, and as good as any: outputs may differ, as long as there are any in time. */
const otherCut = (pattern) => () => ({
  path: ['pre_tokenizer'],
  value: JSON.stringify(split(pattern)),
  isSound: true,
});

/** Each returns the path and the text of a member of tokenizer.json. */
const TOKENIZER_LIES = {
  'an id of -1': idOf('-1'),
  'an id of 0.5': idOf('0.5'),
  'an id of 1e9': idOf('1e9'),
  'an id of 1e308': idOf('1e308'),
  'an id of NaN': idOf('NaN'),
  'an id of null': idOf('null'),
  'an id that is a text': idOf('"7"'),
  'an id twice': (json, random) => ({
    path: ['model', 'vocab', anyToken(json, random)],
    value: String(Object.values(json.model.vocab)[5]),
  }),
  'a vocabulary that is a list': (json) => ({
    path: ['model', 'vocab'],
    value: JSON.stringify(Object.keys(json.model.vocab)),
  }),
  'no vocabulary': at(['model', 'vocab'], '{}'),
  'a vocabulary of __proto__': at(
    ['model', 'vocab'],
    '{"__proto__": {"a": 1}, "constructor": 0, "toString": 1}',
  ),
  'merges of unknown pieces': at(
    ['model', 'merges'],
    [
      ['zzzz', 'qqqq'],
      ['never', 'seen'],
    ],
  ),
  'merges of numbers': at(['model', 'merges'], [1, 2, 3]),
  'merges of one piece': at(['model', 'merges'], [['a'], 'b']),
  'merges of null': at(['model', 'merges'], 'null'),
  'merges of three pieces': at(['model', 'merges'], [['a', 'b', 'c']]),
  'a model of an unknown type': at(['model', 'type'], '"constructor"'),
  'a model of null': at(['model'], 'null'),
  'an unknown token that is not there': at(['model', 'unk_token'], '"<nowhere>"'),
  'dropout of 1': at(['model', 'dropout'], '1'),
  'an expression that backtracks': otherCut('(a+)+$'),
  'an expression that backtracks by alternatives': otherCut('(a|a|aa)*b'),
  'an expression that backtracks by groups': otherCut('(?:(?:\\p{L}+)*)*[^\\p{L}\\s]x'),
  'an expression that is none': at(['pre_tokenizer'], split('(')),
  'an expression of 100,000 characters': otherCut('(?:a|b)'.repeat(14_000)),
  'an expression repeated a billion times': otherCut('(?:a{1000}){1000}'),
  'deep groups in an expression': otherCut('('.repeat(20_000) + ')'.repeat(20_000)),
  'a pre-tokenizer of an unknown type': at(['pre_tokenizer'], { type: '__proto__' }),
  'pre-tokenizers in 5,000 sequences': at(['pre_tokenizer'], nested(5000, 'ByteLevel', 'pretokenizers')),
  'a pre-tokenizer that is a number': at(['pre_tokenizer'], '7'),
  'a normalizer of an unknown type': at(['normalizer'], { type: 'Nothing' }),
  'a normalizer that doubles 60 times': at(['normalizer'], {
    type: 'Sequence',
    normalizers: Array.from({ length: 60 }, () => ({
      type: 'Replace',
      pattern: { String: 'e' },
      content: 'ee',
    })),
  }),
  'a normalizer that backtracks': at(['normalizer'], {
    type: 'Replace',
    pattern: { Regex: '(a+)+$' },
    content: 'x',
  }),
  'a normalizer in front of nothing': () => ({
    path: ['normalizer'],
    value: JSON.stringify({ type: 'Prepend', prepend: 'x'.repeat(1_000_000) }),
    isSound: true,
  }),
  'a post-processor without its tokens': at(['post_processor'], {
    type: 'TemplateProcessing',
    single: [{ SpecialToken: { id: '<gone>', type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }],
    pair: [],
    special_tokens: {},
  }),
  'a post-processor with the text 1,000 times': at(['post_processor'], {
    type: 'TemplateProcessing',
    single: Array.from({ length: 1000 }, () => ({ Sequence: { id: 'A', type_id: 0 } })),
    pair: [],
    special_tokens: {},
  }),
  'a post-processor with ids beyond the model': at(['post_processor'], {
    type: 'TemplateProcessing',
    single: [{ SpecialToken: { id: 'x', type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }],
    pair: [],
    special_tokens: { x: { id: 'x', ids: [1e9], tokens: ['x'] } },
  }),
  'post-processors in 5,000 sequences': at(['post_processor'], nested(5000, 'ByteLevel', 'processors')),
  'a decoder of an unknown type': at(['decoder'], { type: 'constructor' }),
  'a decoder that is a list': at(['decoder'], '[]'),
  'added tokens that are no list': at(['added_tokens'], '{"a": 1}'),
  'added tokens of null': at(['added_tokens'], '[null]'),
  'an added token without content': added('content', '""'),
  // Published tokenizers have such tokens.
  'an added token of white space': (json) => ({ ...added('content', '" "')(json), isSound: true }),
  'an added token whose content is a number': added('content', '5'),
  'an added token of 1,000,000 characters': added('content', JSON.stringify('x'.repeat(1_000_000))),
  'an added token with an id of -1': added('id', '-1'),
  'an added token with an id of 1e9': added('id', '1e9'),
  'an added token with an id of 1.5': added('id', '1.5'),
  'an added token with an id that is a text': added('id', '"5"'),
};

export function lieInTokenizer({ folder, files, random }) {
  const file = files.find((path) => path.endsWith('tokenizer.json'));
  if (!file) return lieInVocabulary({ folder, files, random });
  const json = JSON.parse(readFileSync(join(folder, file), 'utf8'));
  const name = random.pick(Object.keys(TOKENIZER_LIES));
  const { path, value, isSound } = TOKENIZER_LIES[name](json, random);
  writeFileSync(join(folder, file), withMember(json, path, value));
  return { file, key: path.join('.'), isSound, what: `${file} has ${name} (${path.slice(0, 3).join('.')})` };
}

/** vocab.json and merges.txt, as CLIP's tokenizers have them. */
function lieInVocabulary({ folder, files, random }) {
  const pairs = files.filter((path) => path.endsWith('vocab.json'));
  if (pairs.length === 0) return null;
  const file = random.pick(pairs);
  if (random.chance(0.3)) {
    const merges = file.replace('vocab.json', 'merges.txt');
    const text = random.pick(['#version: 0.2\nzzz qqq\n', 'a\nb\n', 'a b c d\n', '\u0000\u0000\n']);
    writeFileSync(join(folder, merges), text);
    return { file: merges, what: `${merges} is ${JSON.stringify(text)}` };
  }
  const vocab = JSON.parse(readFileSync(join(folder, file), 'utf8'));
  const token = random.pick(Object.keys(vocab));
  const value = random.pick([
    '-1',
    '0.5',
    '1e9',
    'null',
    '"7"',
    'NaN',
    '[]',
    String(Object.values(vocab)[5]),
  ]);
  writeFileSync(join(folder, file), withMember(vocab, [token], value));
  return { file, key: token, what: `${file}: ${JSON.stringify(token)} has the id ${value}` };
}

/** Templates that fail, do not end, or write without end. */
const TEMPLATES = {
  'an endless loop': '{% for i in range(1000000000) %}{% endfor %}x',
  'nested loops': `${'{% for i in range(100000) %}'.repeat(6)}${'{% endfor %}'.repeat(6)}x`,
  'output without end': '{% for i in range(100000000) %}{{ messages }}{% endfor %}',
  'a text doubled 60 times': `{% set x = 'a' %}${'{% set x = x ~ x %}'.repeat(60)}{{ x }}`,
  'a text repeated': "{{ 'abc' * 1000000000 }}",
  'a list repeated': '{{ [1] * 1000000000 }}',
  'a huge range': '{{ range(1000000000000) | list }}',
  'a power': '{{ 9 ** 9 ** 9 ** 9 }}',
  'a macro that calls itself': '{% macro f(x) %}{{ f(x) }}{{ f(x) }}{% endmacro %}{{ f(1) }}',
  'padding by a billion':
    "{{ 'a' | indent(1000000000) }}{{ 'a'.ljust(1000000000) }}{{ '%1000000000d' | format(1) }}",
  'a tag that is not closed': '{% for m in messages %}{{ m.content }}',
  'an expression that is not closed': '{{ messages[0]',
  'an unknown tag': '{% frobnicate %}',
  'an unknown filter': '{{ messages | frobnicate }}',
  'an unknown function': '{{ frobnicate() }}',
  'a member of what is not there': '{{ nothing.at.all }}',
  raise_exception: "{{ raise_exception('no') }}",
  'deep parentheses': `{{ ${'('.repeat(20_000)}1${')'.repeat(20_000)} }}`,
  'deep blocks': `${'{% if true %}'.repeat(20_000)}x${'{% endif %}'.repeat(20_000)}`,
  'a long sum': `{{ ${'1+'.repeat(50_000)}1 }}`,
  constructor: "{{ messages.constructor.constructor('return process')().exit(7) }}",
  __class__: "{{ ''.__class__.__mro__[1].__subclasses__() }}",
  'a list that contains itself': '{% set a = [] %}{% set _ = a.append(a) %}{{ a }}{{ a | tojson }}',
  'a loop over a growing list': '{% set a = [1] %}{% for x in a %}{% set _ = a.append(x) %}{% endfor %}',
  'no text at all': '',
  'unpaired surrogates': '\ud800{{ messages[0].content }}',
};

export function lieInTemplate({ folder, base, files, random }) {
  const known = files.find((path) => path.endsWith('tokenizer_config.json'));
  if (!known && base.kind === 'image') return null;
  const place = known ? known.slice(0, -'tokenizer_config.json'.length) : '';
  const config = join(folder, place, 'tokenizer_config.json');
  const name = random.pick(Object.keys(TEMPLATES));
  const template = TEMPLATES[name];
  const isOwnFile = !existsSync(config) || random.chance(0.4);
  const file = place + (isOwnFile ? 'chat_template.jinja' : 'tokenizer_config.json');
  if (isOwnFile) writeFileSync(join(folder, file), template);
  else {
    const json = JSON.parse(readFileSync(config, 'utf8'));
    const isNamed = random.chance(0.2);
    json.chat_template = isNamed ? [{ name: 'default', template }] : template;
    writeFileSync(config, JSON.stringify(json));
  }
  // Any text is a template, and the prompt of an image is written by it.
  const isSound = base.kind === 'image';
  return {
    file,
    key: 'chat_template',
    isTemplate: true,
    isSound,
    what: `${file} has a template with ${name}`,
  };
}
