// Syntaxes of calls with tags around each argument, as data.

import type { TaggedBody } from './format.ts';

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
export function attributeTags(mark: string, begins: TaggedBody['value']['begins'], before = ''): TaggedBody {
  const begin = `<${mark}invoke name="`;
  return {
    kind: 'tagged',
    name: { begin: `${before}${begin}`, ...(before !== '' && { otherBegin: begin }), end: '">' },
    key: { begin: `<${mark}parameter name="`, end: '"' },
    value: { begins, end: `</${mark}parameter>` },
    close: `</${mark}invoke>`,
  };
}

export const TYPED = { text: '>', reads: 'schema' } as const;
export const DSML = attributeTags('｜DSML｜', [
  { text: ' string="true">', reads: 'text' },
  { text: ' string="false">', reads: 'json' },
  TYPED,
]);

/** Tags around each key and each value, with an optional tag between them that names the value's type. */
export function typedTags(mark: string): TaggedBody {
  const plain = argumentTags(mark);
  const typed = (['string', 'integer', 'number', 'boolean', 'object', 'array', 'null'] as const).map(
    (type) => ({
      text: `<${mark}arg_type>${type}</${mark}arg_type><${mark}arg_value>`,
      reads: type === 'string' ? ('text' as const) : ('json' as const),
    }),
  );
  return { ...plain, value: { ...plain.value, begins: [...plain.value.begins, ...typed] } };
}
