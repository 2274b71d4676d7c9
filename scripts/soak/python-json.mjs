// JSON as Python writes it, with Infinity, -Infinity and NaN, which schedulers of published models have.

import { readFileSync } from 'node:fs';
import { parseJson } from '../../dist/files/json.js';

const MARK = '\u{e001}number\u{e001}';
const MARKED = new RegExp(`"${MARK}(-?Infinity|NaN)"`, 'g');

export const readJson = (path) => parseJson(readFileSync(path, 'utf8'));

export function jsonText(value, space) {
  const marked = (_, one) => (typeof one === 'number' && !Number.isFinite(one) ? `${MARK}${one}` : one);
  return JSON.stringify(value, marked, space).replaceAll(MARKED, '$1');
}
