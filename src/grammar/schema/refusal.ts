// The errors that refuse a schema, with the place of the keyword at fault.

import { GrammarError } from '../bounds/grammar-error.ts';

/** A subschema by its JSON pointer, and one of its keywords; null: the whole subschema. */
export interface RefusedPlace {
  pointer: string;
  keyword: string | null;
}

const places = new WeakMap<object, RefusedPlace>();

/** The place that an error refuses; null: the error is not about a place in a schema. */
export function refusedPlace(error: unknown): RefusedPlace | null {
  return places.get(Object(error) as object) ?? null;
}

/** Throws bad_request. `path`: how the request names the schema, as in response_format.json_schema.schema. */
export function refusePlace(path: string, place: RefusedPlace, why: string, remedy: string): never {
  const { pointer, keyword } = place;
  const whole = keyword === null ? pointer : `${pointer}/${keyword}`;
  const shown = whole === '' ? path : `${path} at #${whole}`;
  const refusal = new GrammarError('bad_request', `${shown}: ${why}; ${remedy}`, { param: path });
  places.set(refusal, place);
  throw refusal;
}
