// Objects as the text of an argument: JSON, and for settings also a file, or key=value,key=value.

import { readFileSync } from 'node:fs';
import { parseDocument } from 'yaml';
import { UsageError } from '../process/exit.ts';

export function readObject(name: string, text: string): Record<string, unknown> {
  if (text === '') return {};
  const value = parsed(text);
  if (isObject(value)) return value;
  const isBare = /^\{[^"]+\}$/.test(text);
  const hint = isBare
    ? '; its quotes are missing, and where the shell takes them away each is written \\"'
    : '';
  throw new UsageError(`${name} is a JSON object such as '{"name": 1}', got "${text}"${hint}`);
}

/** A file if the name ends like one, then JSON, then pairs. */
export function readSettings(name: string, text: string): Record<string, unknown> {
  if (/\.(json|ya?ml)$/i.test(text)) return readFile(name, text);
  if (/^\s*(\{|$)/.test(text)) return readObject(name, text);
  const pairs = text.split(/,(?![^[]*\])/).map((pair): [string, unknown] => {
    const [, key, value] = /^\s*([\w.-]+)\s*=\s*(.+?)\s*$/.exec(pair) ?? [];
    if (key === undefined)
      throw new UsageError(`${name} is a file, a JSON object or key=value,key=value, got "${text}"`);
    return [key, parsed(value!) ?? value];
  });
  return Object.fromEntries(pairs);
}

function readFile(name: string, path: string): Record<string, unknown> {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new UsageError(
      `${name}: ${path} cannot be read (${(error as Error).message}): give a file that is there`,
    );
  }
  const document = parseDocument(text);
  const value: unknown = document.errors.length > 0 ? undefined : document.toJS();
  if (isObject(value)) return value;
  throw new UsageError(`${name}: ${path} is not an object in JSON or YAML: give keys with values`);
}

/** undefined for text that is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
