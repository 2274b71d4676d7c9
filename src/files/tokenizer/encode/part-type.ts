// The type of a part of tokenizer.json, which says what the part is.

/** Throws if the type is not a string. */
export function partType(part: string, { type }: Readonly<Record<string, unknown>>): string {
  if (typeof type === 'string') return type;
  throw new Error(`the ${part} has ${type === undefined ? 'no type' : `the type ${JSON.stringify(type)}`}`);
}
