// A configuration file: JSON, YAML, or a picture that holds how it was drawn. Its keys are the options of a table with underscores
// for hyphens; what it says is checked like arguments. A relative path of something to read is looked for beside the file first, then where
// the command runs; what is written goes where the command runs.

import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import { parseDocument } from 'yaml';
import { configOfPicture, imageFormatOf } from '../index.ts';
import { isMapOption, joined, nearest } from './arguments.ts';
import { UsageError } from './exit.ts';
import { findMember, findOption, namesIn, readValue, type OptionTable } from './option.ts';
import { textOf } from './text-file.ts';

/** Values by option name. Keys with null say nothing. */
export async function readConfigFile(path: string, table: OptionTable): Promise<Record<string, unknown>> {
  const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    const reason = error.code === 'ENOENT' ? 'is not there' : `cannot be read (${error.code})`;
    throw new UsageError(`the configuration file ${path} ${reason}: give a .json, .yaml or .yml file`);
  });
  const values: Record<string, unknown> = {};
  for (const [key, given] of Object.entries(parse(path, bytes))) {
    const name = key.includes('-') ? '' : key.replaceAll('_', '-');
    const part = findMember(name, table);
    const found = findOption(part?.map ?? name, table);
    if (!found || found.name === 'config') throw unknownKey(key, path, table);
    if (given === null) continue;
    const before = values[found.name];
    if (before !== undefined && !isMapOption(found.option)) {
      throw new UsageError(`${path} says ${keyOf(found.name)} twice, once as ${key}: keep one of them`);
    }
    const value = part ? { [part.member]: given } : given;
    const read = readValue(`${key} in ${path}`, found.option, value);
    values[found.name] = joined(before, found.option.isInput ? beside(path, read) : read, found.option);
  }
  return values;
}

/** A path, or each of a map's. */
function beside(file: string, value: unknown): unknown {
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, path]) => [key, beside(file, path)]));
  }
  if (typeof value !== 'string' || value === '' || isAbsolute(value)) return value;
  const place = join(dirname(file), value);
  return existsSync(place) ? place : value;
}

/** What an option is called in a configuration file. */
export function keyOf(name: string): string {
  return name.replaceAll('-', '_');
}

function parse(path: string, bytes: Buffer): Record<string, unknown> {
  const ending = /\.[^./\\]+$/.exec(path)?.[0].toLowerCase() ?? '';
  if (imageFormatOf(path) !== null) {
    const config = configOfPicture(bytes);
    if (config !== null) return config;
    throw new UsageError(
      `${path} does not say how it was drawn: give a picture that svc drew, or a .json or .yaml file`,
    );
  }
  if (!['.json', '.yaml', '.yml'].includes(ending)) {
    throw new UsageError(`${path} is no configuration file: give a .json, .yaml or .yml file`);
  }
  const text = textOf(bytes, path);
  const value = ending === '.json' ? parseJson(path, text) : parseYaml(path, text);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>;
  }
  throw new UsageError(`${path} must hold keys and values, such as "seed": 1`);
}

function parseJson(path: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UsageError(`${path} is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function parseYaml(path: string, text: string): unknown {
  const document = parseDocument(text);
  const [problem] = document.errors;
  if (problem) throw new UsageError(`${path} is not YAML: ${problem.message.split('\n')[0]}`);
  return document.toJS();
}

function unknownKey(key: string, path: string, table: OptionTable): UsageError {
  const near = nearest(key, namesIn(table).map(keyOf));
  return new UsageError(
    `${path} has the key ${JSON.stringify(key)}, which is no option${near === null ? '' : `; did you mean ${near}?`}`,
  );
}
