// The values of terms that have few.

import { countTexts, textsOf } from '../automata/dfa-language.ts';
import { isEmpty } from '../automata/dfa.ts';
import type { Context } from './context.ts';
import { decimalOf, isMultiple } from './decimal.ts';
import { isWhole, type NumberPiece } from './number-set.ts';
import { stringsOf } from './shape.ts';
import type { Json, Shape, Term } from './term.ts';

/** The values of a term; null: there are more than `most`, or some are not scalars. */
export function scalarValues(term: Term, most: number, context: Context): Json[] | null {
  const shape = context.shapeOf(term);
  const values = nonStringScalars(shape, most);
  if (values === null || isEmpty(shape.strings)) return values;
  const strings = stringsOf(shape, context);
  if (countTexts(strings)[0]! > most) return null;
  values.push(...textsOf(strings));
  return values.length > most ? null : values;
}

/** The values of a shape that are not strings; null: there are more than `most`, or some are not scalars. */
export function nonStringScalars(shape: Shape, most: number): Json[] | null {
  if (shape.arrays.length > 0 || shape.objects.length > 0) return null;
  const values: Json[] = [...shape.words];
  for (const piece of shape.numbers) {
    const numbers = numbersOf(piece, most);
    if (numbers === null) return null;
    values.push(...numbers.filter((number) => !values.includes(number)));
  }
  return values.length > most ? null : values;
}

function numbersOf(piece: NumberPiece, most: number): number[] | null {
  const { min, max, not } = piece;
  if (min === max) return [min];
  if (!isWhole(piece) || !(max - min <= most * 16)) return null;
  const found: number[] = [];
  for (let value = Math.ceil(min); value <= max; value++) {
    const exact = decimalOf(value);
    if (isMultiple(exact, piece.step!) && !not.some((step) => isMultiple(exact, step))) found.push(value + 0);
  }
  return found;
}
