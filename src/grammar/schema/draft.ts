// The drafts of JSON Schema, as far as they differ: which keywords one knows, and what it has in place of others. A keyword that a
// draft does not know has no effect there.

import type { SchemaObject } from './document.ts';

/** By number until 7, then by year. */
export type Draft = 4 | 5 | 6 | 7 | 2019 | 2020;

export const LATEST: Draft = 2020;

const DIALECT =
  /^https?:\/\/json-schema\.org\/(?:draft\/(20(?:19|20))-(?:09|12)\/schema|draft-0([4-7])\/schema)#?$/;

/** The draft that a `$schema` names; null: none that is known. */
export function draftOf(dialect: unknown): Draft | null {
  const match = typeof dialect === 'string' ? DIALECT.exec(dialect) : null;
  return match && (Number(match[1] ?? match[2]) as Draft);
}

/** Until draft 7 $ref stands alone: all that is beside it is ignored. */
export const refStandsAlone = (value: SchemaObject, draft: Draft): boolean =>
  draft <= 7 && typeof value['$ref'] === 'string';

/** The keyword that holds a subschema's URI. */
export const idKeyword = (draft: Draft): string => (draft <= 5 ? 'id' : '$id');

/** The first draft that knows it; older ones know all others. */
const SINCE = new Map<string, Draft>([
  ...['const', 'contains', 'propertyNames'].map((keyword) => [keyword, 6] as const),
  ...['if', 'then', 'else'].map((keyword) => [keyword, 7] as const),
  ...['dependentRequired', 'dependentSchemas', 'minContains', 'maxContains'].map(
    (keyword) => [keyword, 2019] as const,
  ),
  ...['unevaluatedItems', 'unevaluatedProperties'].map((keyword) => [keyword, 2019] as const),
  ...['prefixItems', '$dynamicRef'].map((keyword) => [keyword, 2020] as const),
]);

/** The keywords that have an effect, in the meaning that the latest draft gives them. */
export function keywordsOf(value: SchemaObject, draft: Draft): SchemaObject {
  if (refStandsAlone(value, draft)) return { $ref: value['$ref'] };
  if (draft === LATEST) return value;
  const known = Object.entries(value).filter(([keyword]) => draft >= (SINCE.get(keyword) ?? 0));
  const keywords = Object.fromEntries(known);
  if (draft <= 5) {
    excludeBound(keywords, 'minimum', 'exclusiveMinimum');
    excludeBound(keywords, 'maximum', 'exclusiveMaximum');
  }
  return keywords;
}

/** `exclusiveMinimum: true` says that `minimum` itself is outside. */
function excludeBound(keywords: SchemaObject, bound: string, exclusive: string): void {
  const isExclusive = keywords[exclusive];
  if (typeof isExclusive !== 'boolean') return;
  delete keywords[exclusive];
  if (!isExclusive || keywords[bound] === undefined) return;
  keywords[exclusive] = keywords[bound];
  delete keywords[bound];
}
