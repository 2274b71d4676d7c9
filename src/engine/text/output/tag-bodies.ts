// Syntaxes of calls with tags around each argument, as data.

import type { NestedBody, TaggedBody } from './format.ts';

type Begins = TaggedBody['value']['begins'];

/** Tags whose names carry the function's and the arguments' names. */
export const FUNCTION_TAGS: TaggedBody = {
  kind: 'tagged',
  name: { begin: '<function=', end: '>' },
  key: { begin: '<parameter=', end: '>' },
  value: { begins: [{ text: '', reads: 'schema' }], end: '</parameter>' },
  close: '</function>',
  newlines: true,
  mayLackEnds: true,
};

/** Tags around each key and each value. `mark`: prefix of the tags' names. */
export function argumentTags(mark: string): TaggedBody {
  return {
    kind: 'tagged',
    name: { begin: '', end: '' },
    key: { begin: `<${mark}arg_key>`, end: `</${mark}arg_key>` },
    value: { begins: [{ text: `<${mark}arg_value>`, reads: 'schema' }], end: `</${mark}arg_value>` },
  };
}

export const ARGUMENT_TAGS = argumentTags('');
/** Tags whose attributes name the function and the arguments. `mark`: prefix of the tags' names; `before`: text before the first tag. */
export function attributeTags(mark: string, begins: Begins, before = ''): TaggedBody {
  const begin = `<${mark}invoke name="`;
  return {
    kind: 'tagged',
    name: { begin: `${before}${begin}`, ...(before !== '' && { otherBegins: [begin] }), end: '">' },
    key: { begin: `<${mark}parameter name="`, end: '"' },
    value: { begins, end: `</${mark}parameter>` },
    close: `</${mark}invoke>`,
  };
}

export const TYPED = { text: '>', reads: 'schema' } as const;
/** Tags whose attributes also say whether a value is a string. The next argument ends one whose closing tag is missing. */
export function stringTags(mark: string): TaggedBody {
  const begins: Begins = [
    { text: ' string="true">', reads: 'text' },
    { text: ' string="false">', reads: 'json' },
    TYPED,
  ];
  return { ...attributeTags(mark, begins), mayLackEnds: true };
}

/** Tags around each key and each value, with an optional tag between them that names the value's type. */
export function typedTags(mark: string): TaggedBody {
  const plain = argumentTags(mark);
  const typed = valuesOfTypes((type) => `<${mark}arg_type>${type}</${mark}arg_type><${mark}arg_value>`);
  return { ...plain, value: { ...plain.value, begins: [...plain.value.begins, ...typed] } };
}

/** Opening tags that name the type of a value. */
function valuesOfTypes(tag: (type: string) => string): Begins {
  const others = ['object', 'array', 'number', 'integer', 'boolean', 'null'];
  return [
    { text: tag('string'), reads: 'text' },
    ...others.map((type) => ({ text: tag(type), reads: 'json' as const })),
  ];
}

/** Tags of Kimi K3: a word between special tokens, with attributes that give the type of a value. */
export const OPEN_AND_CLOSE: TaggedBody = {
  kind: 'tagged',
  name: { begin: '<|open|>call tool="', end: '"', number: { begin: ' index="', end: '"<|sep|>' } },
  key: { begin: '<|open|>argument key="', end: '"' },
  value: { begins: valuesOfTypes((type) => ` type="${type}"<|sep|>`), end: '<|close|>argument<|sep|>' },
  entities: true,
  close: '<|close|>call<|sep|>',
};

/** Elements of MiniMax M3, whose tags have a mark before them. */
export function elementTags(mark: string): NestedBody {
  return {
    kind: 'tagged',
    name: { begin: `${mark}<invoke name="`, end: '">' },
    close: `${mark}</invoke>`,
    nested: { mark, item: 'item' },
  };
}

/** Opening tag in every spelling. */
export function beginsOf({
  begin,
  otherBegins = [],
}: {
  begin: string;
  otherBegins?: readonly string[];
}): string[] {
  return [begin, ...otherBegins];
}
