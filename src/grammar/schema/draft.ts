// The differences between the drafts of JSON Schema: the keywords that each knows, and their older forms. A keyword that a draft does not
// know has no effect in it.

import { type SchemaObject } from './schema-value.ts';

/** Drafts by their number up to 7, later ones by their year. */
export type Draft = 4 | 5 | 6 | 7 | 2019 | 2020;

export const LATEST: Draft = 2020;

const DIALECT =
  /^https?:\/\/json-schema\.org\/(?:draft\/(20(?:19|20))-(?:09|12)\/schema|draft-0([4-7])\/schema)#?$/;

/** The draft that `$schema` names; null: an unknown one. */
export function draftOf(dialect: unknown): Draft | null {
  const match = typeof dialect === 'string' ? DIALECT.exec(dialect) : null;
  return match && (Number(match[1] ?? match[2]) as Draft);
}

/** Whether the schema is a $ref of a draft up to 7, in which keywords beside it are ignored. */
export const refStandsAlone = (value: SchemaObject, draft: Draft): boolean =>
  draft <= 7 && typeof value['$ref'] === 'string';

/** The keyword that holds a subschema's URI. */
export const idKeyword = (draft: Draft): string => (draft <= 5 ? 'id' : '$id');

/** The first draft that knows each keyword; all drafts know the others. */
const SINCE = new Map<string, Draft>([
  ...['const', 'contains', 'propertyNames'].map((keyword) => [keyword, 6] as const),
  ...['if', 'then', 'else'].map((keyword) => [keyword, 7] as const),
  ...['dependentRequired', 'dependentSchemas', 'minContains', 'maxContains'].map(
    (keyword) => [keyword, 2019] as const,
  ),
  ...['unevaluatedItems', 'unevaluatedProperties'].map((keyword) => [keyword, 2019] as const),
  ...['prefixItems', '$dynamicRef'].map((keyword) => [keyword, 2020] as const),
]);

/** The keywords that have an effect in a draft, in the form of the latest draft. */
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

/** Converts `exclusiveMinimum: true` beside `minimum`, which makes that bound exclusive. */
function excludeBound(keywords: SchemaObject, bound: string, exclusive: string): void {
  const isExclusive = keywords[exclusive];
  if (typeof isExclusive !== 'boolean') return;
  delete keywords[exclusive];
  if (!isExclusive || keywords[bound] === undefined) return;
  keywords[exclusive] = keywords[bound];
  delete keywords[bound];
}
