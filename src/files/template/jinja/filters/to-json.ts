// The filter tojson, as transformers defines it: Python's json.dumps, which leaves other scripts as they are.

import { Dict } from '../values/dict.ts';
import { sorted } from '../operators/compare.ts';
import { typeError } from '../values/failure.ts';
import { listOf } from '../values/iterate.ts';
import type { Meter } from '../values/meter.ts';
import { requireText } from '../values/numbers.ts';
import { shownFloat } from '../values/print.ts';
import { Float, isInt, isList, isText, Markup, Tuple, typeName, type Value } from '../values/values.ts';

interface JsonOptions {
  /** Escapes everything beyond ASCII. */
  ascii: boolean;
  /** None, a number of blanks, or the text to indent with. */
  indent: Value;
  /** None, or a pair: between elements, and behind keys. */
  separators: Value;
  sort: boolean;
}

/** Throws TypeError for what is not JSON. */
export function toJson(value: Value, { ascii, indent, separators, sort }: JsonOptions, meter: Meter): string {
  const step = indent === null ? null : isText(indent) ? requireText(indent, meter) : blanks(indent, meter);
  const [between = ', ', colon = ': ', ...more] =
    separators === null
      ? [step === null ? ', ' : ',', ': ']
      : listOf(separators, meter).map((part) => requireText(part, meter));
  if (more.length > 0) throw typeError('separators must be a pair');
  const writer = new JsonWriter({ ascii, step, between, colon, sort }, meter);
  writer.value(value, '\n');
  return writer.text;
}

function blanks(indent: Value, meter: Meter): string {
  if (!isInt(indent)) throw typeError(`can't multiply sequence by non-int of type '${typeName(indent)}'`);
  const width = Math.max(0, Number(indent));
  meter.make(width);
  return ' '.repeat(width);
}

interface Style {
  ascii: boolean;
  step: string | null;
  between: string;
  colon: string;
  sort: boolean;
}

class JsonWriter {
  text = '';
  readonly #style: Style;
  readonly #meter: Meter;

  constructor(style: Style, meter: Meter) {
    this.#style = style;
    this.#meter = meter;
  }

  /** `line`: a line break with the indentation so far. */
  value(value: Value, line: string): void {
    this.#meter.step();
    if (isList(value)) this.#list(value, line);
    else if (value instanceof Tuple) this.#list(value.items, line);
    else if (value instanceof Dict) this.#dict(value, line);
    else this.#add(this.#scalar(value));
  }

  #add(piece: string): void {
    this.#meter.make(this.text.length + piece.length, piece.length);
    this.text += piece;
  }

  #list(items: readonly Value[], line: string): void {
    this.#series('[', items, ']', line, (item, inner) => this.value(item, inner));
  }

  #dict(dict: Dict, line: string): void {
    const { colon, sort } = this.#style;
    const keys = [...dict.keys()];
    const ordered = sort ? sorted(keys, (key) => key, false, this.#meter) : keys;
    this.#series('{', ordered, '}', line, (key, inner) => {
      this.#add(jsonText(this.#key(key), this.#style.ascii) + colon);
      this.value(dict.get(key, this.#meter) ?? null, inner);
    });
  }

  #series(
    open: string,
    items: readonly Value[],
    close: string,
    line: string,
    write: (item: Value, line: string) => void,
  ): void {
    const { step, between } = this.#style;
    this.#add(open);
    const inner = step === null ? '' : line + step;
    items.forEach((item, at) => {
      this.#add((at > 0 ? between : '') + inner);
      write(item, step === null ? line : inner);
    });
    this.#add(items.length > 0 && step !== null ? line + close : close);
  }

  #key(key: Value): string {
    if (typeof key === 'string') return key;
    if (key instanceof Markup) return key.text;
    if (key === null || isInt(key) || key instanceof Float) return this.#scalar(key);
    throw typeError(`keys must be str, int, float, bool or None, not ${typeName(key)}`);
  }

  #scalar(value: Value): string {
    if (typeof value === 'string') {
      this.#meter.read(value.length);
      return jsonText(value, this.#style.ascii);
    }
    if (value === null) return 'null';
    if (isInt(value)) return String(value);
    if (value instanceof Markup) return jsonText(value.text, this.#style.ascii);
    if (!(value instanceof Float))
      throw typeError(`Object of type ${typeName(value)} is not JSON serializable`);
    const text = shownFloat(value.value);
    return { nan: 'NaN', inf: 'Infinity', '-inf': '-Infinity' }[text] ?? text;
  }
}

const ESCAPES: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\f': '\\f',
  '\b': '\\b',
};

/** Characters that JSON text must escape. */
const ESCAPED = '["\\\\\\0-\\x1f]';
const CONTROL_OR_QUOTE = new RegExp(ESCAPED, 'g');

function jsonText(text: string, ascii: boolean): string {
  const pattern = ascii ? /["\\]|[^ -~]/g : CONTROL_OR_QUOTE;
  const body = text.replace(
    pattern,
    (char) => ESCAPES[char] ?? `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return `"${body}"`;
}
