// str.format and str.format_map: fields are looked up as the template looks up members.

import { Dict } from '../values/dict.ts';
import { TemplateFailure, typeError, valueError } from '../values/failure.ts';
import { formatSpec } from '../values/format-spec.ts';
import type { Meter } from '../values/meter.ts';
import { asciiOf, printed, shown, shownText } from '../values/print.ts';
import { NativeFunction, type Arguments, type Value } from '../values/values.ts';

export interface Lookup {
  member(value: Value, name: string, meter: Meter): Value;
  element(value: Value, index: Value, meter: Meter): Value;
}

interface Given {
  args: readonly Value[];
  named: (name: string) => Value | undefined;
}

/** The methods `format` and `format_map` of a text. */
export function formatMember(text: string, name: string, lookup: Lookup, meter: Meter): Value | undefined {
  if (name === 'format') {
    return new NativeFunction(name, (args: readonly Value[], named: Arguments) =>
      new Formatter({ args, named: (key) => named.get(key) }, lookup, meter).format(text),
    );
  }
  if (name !== 'format_map') return undefined;
  return new NativeFunction(name, ([values, ...more], named) => {
    if (named.size > 0) throw typeError('format_map() takes no keyword arguments');
    if (!(values instanceof Dict) || more.length > 0)
      throw typeError('format_map() takes exactly one argument, a mapping');
    return new Formatter({ args: [], named: (key) => values.getName(key) }, lookup, meter).format(text);
  });
}

/** Formats in a format specification, such as '{:>{width}}', nest once. */
const MOST_NESTING = 2;

class Formatter {
  readonly #given: Given;
  readonly #lookup: Lookup;
  readonly #meter: Meter;
  #automatic: number | null = null;
  #isNumbered = false;

  constructor(given: Given, lookup: Lookup, meter: Meter) {
    this.#given = given;
    this.#lookup = lookup;
    this.#meter = meter;
  }

  format(text: string, depth = MOST_NESTING): string {
    if (depth <= 0) throw valueError('Max string recursion exceeded');
    let result = '';
    let at = 0;
    while (at < text.length) {
      const brace = /[{}]/g;
      brace.lastIndex = at;
      const found = brace.exec(text);
      const stop = found ? found.index : text.length;
      let piece = text.slice(at, stop);
      at = stop;
      if (found && text[at + 1] === found[0]) {
        piece += found[0];
        at += 2;
      } else if (found?.[0] === '}') {
        throw valueError("Single '}' encountered in format string");
      } else if (found) {
        const end = fieldEnd(text, at);
        piece += this.#field(text.slice(at + 1, end), depth);
        at = end + 1;
      }
      this.#meter.make(result.length + piece.length, piece.length);
      result += piece;
    }
    return result;
  }

  #field(field: string, depth: number): string {
    this.#meter.step();
    const [, name = '', conversion, spec = ''] =
      /^((?:[^[!:]|\[[^\]]*\])*)(?:!([\s\S]*?))?(?::([\s\S]*))?$/.exec(field) ?? [];
    const value = this.#value(name);
    const wide = spec.includes('{') ? this.format(spec, depth - 1) : spec;
    if (conversion === undefined) return formatSpec(value, wide, this.#meter);
    return formatSpec(this.#converted(value, conversion), wide, this.#meter);
  }

  #converted(value: Value, conversion: string): string {
    if (conversion === 's') return printed(value, this.#meter);
    if (conversion === 'r') return shown(value, this.#meter);
    if (conversion === 'a') return asciiOf(shown(value, this.#meter));
    throw valueError(`Unknown conversion specifier ${shownText(conversion)}`);
  }

  #value(name: string): Value {
    const [first = ''] = /^[^.[]*/.exec(name) ?? [];
    let value = this.#first(first);
    const rest = name.slice(first.length);
    const parts = /\.([^.[]+)|\[([^\]]+)\]/gy;
    let read = 0;
    for (const [whole, attribute, index] of rest.matchAll(parts)) {
      read += whole.length;
      if (attribute !== undefined) value = this.#lookup.member(value, attribute, this.#meter);
      else if (index !== undefined)
        value = this.#lookup.element(value, /^\d+$/.test(index) ? Number(index) : index, this.#meter);
    }
    if (read !== rest.length) throw valueError('Empty attribute in format string');
    return value;
  }

  #first(name: string): Value {
    const { args, named } = this.#given;
    if (name === '' || /^\d+$/.test(name)) {
      const isAutomatic = name === '';
      if (isAutomatic ? this.#isNumbered : this.#automatic !== null)
        throw valueError('cannot switch between manual field specification and automatic field numbering');
      const at = isAutomatic ? (this.#automatic ?? 0) : Number(name);
      if (isAutomatic) this.#automatic = at + 1;
      else this.#isNumbered = true;
      const value = args[at];
      if (value === undefined)
        throw new TemplateFailure(
          'IndexError',
          `Replacement index ${at} out of range for positional args tuple`,
        );
      return value;
    }
    const value = named(name);
    if (value === undefined) throw new TemplateFailure('KeyError', shownText(name));
    return value;
  }
}

/** Index of the brace that closes the one at `start`. */
function fieldEnd(text: string, start: number): number {
  let open = 0;
  for (let at = start; at < text.length; at++) {
    if (text[at] === '{') open++;
    else if (text[at] === '}' && --open === 0) return at;
  }
  throw valueError("expected '}' before end of string");
}
