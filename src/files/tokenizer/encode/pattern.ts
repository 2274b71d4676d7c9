// Patterns of tokenizer.json. The reference runs them in Oniguruma, whose classes follow Unicode: \s is White_Space (with U+0085, without
// U+FEFF), \w, \d and \b are Unicode's, (?i:…) folds letters. The JavaScript library translates its syntax; what is left is mended here.

import { UnknownKind } from './unknown-kind.ts';
import { isRecord } from '../../source.ts';
import { translate } from './library.ts';
import { refuseSlow } from './slow-pattern.ts';

/** The expression of `{"Regex": …}` or `{"String": …}`, with the flags g and u. Throws for anything else and for what cannot be translated. */
export function patternOf(config: unknown): RegExp {
  const { Regex: expression, String: literal } = isRecord(config) ? config : {};
  if (typeof literal === 'string') return new RegExp(literal.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&'), 'gu');
  if (typeof expression !== 'string') {
    throw new Error(`a pattern is ${JSON.stringify(config)} instead of a Regex or a String`);
  }
  refuseSlow(expression);
  const pattern = translate(foldLongS(expression));
  // Compiled here, so that an expression too large for the engine is refused as the model opens.
  pattern.test('');
  pattern.lastIndex = 0;
  return pattern;
}

/** (?i:'s|…) also takes the long s, whose upper case is S, and (?i:k) the Kelvin sign. The library folds ASCII letters only. */
function foldLongS(expression: string): string {
  return expression.replace(/\(\?i:((?:[^()[\]\\]|\\.)*)\)/g, (_whole, inner: string) => {
    const folded = inner.replace(/\\.|[sSkK]/g, (character) => {
      if (character.length > 1) return character;
      return /s/i.test(character) ? '[sSſ]' : '[kK\u212a]';
    });
    return `(?i:${folded})`;
  });
}

export type Behavior = 'Removed' | 'Isolated' | 'MergedWithPrevious' | 'MergedWithNext' | 'Contiguous';

const BEHAVIORS: readonly Behavior[] = [
  'Removed',
  'Isolated',
  'MergedWithPrevious',
  'MergedWithNext',
  'Contiguous',
];

export function behaviorOf(value: unknown): Behavior {
  const behavior = BEHAVIORS.find((name) => name.toLowerCase() === String(value).toLowerCase());
  if (behavior === undefined) throw new UnknownKind('split behavior', value);
  return behavior;
}

/** The text in pieces, none of them empty: matches, and what lies between them. `invert` exchanges the two. */
export function splitText(text: string, pattern: RegExp, behavior: Behavior, invert = false): string[] {
  const pieces: string[] = [];
  let last = false;
  const add = (from: number, to: number, isMatch: boolean): void => {
    if (from === to || (isMatch && behavior === 'Removed')) return;
    const joins =
      pieces.length > 0 &&
      ((behavior === 'Contiguous' && isMatch === last) ||
        (behavior === 'MergedWithPrevious' && isMatch && !last) ||
        (behavior === 'MergedWithNext' && !isMatch && last));
    const piece = text.slice(from, to);
    if (joins) pieces[pieces.length - 1] += piece;
    else pieces.push(piece);
    last = isMatch;
  };
  let end = 0;
  pattern.lastIndex = 0;
  for (;;) {
    const match = pattern.exec(text);
    if (match === null) break;
    const { index } = match;
    add(end, index, invert);
    end = index + match[0].length;
    add(index, end, !invert);
    if (match[0] === '') pattern.lastIndex += (text.codePointAt(index) ?? 0) > 0xffff ? 2 : 1;
  }
  add(end, text.length, invert);
  return pieces;
}
