// Reads a configuration file: JSON, YAML, or an image or a video with the parameters it was drawn with. Keys are the options of a table with
// underscores for hyphens, and values are checked like arguments. config-paths.ts resolves input paths; output paths are relative to
// the working directory.

import { parseDocument } from 'yaml';
import { configOfVideo } from '../../index.ts';
import { isMapOption, joined, meantBy } from '../options/arguments.ts';
import { MOST_IMAGE_BYTES, MOST_TEXT_BYTES, readBounded } from '../process/bounded-file.ts';
import { isDrawn, placed } from './config-paths.ts';
import { UsageError } from '../process/exit.ts';
import { findMember, findOption, readValue, type OptionTable } from '../options/option.ts';
import { textOf } from '../process/text-file.ts';

/** Returns values by option name. Keys with null are skipped; the path of an option that is also `typed` is not resolved. */
export async function readConfigFile(
  path: string,
  table: OptionTable,
  typed: ReadonlySet<string>,
): Promise<Record<string, unknown>> {
  const remedy = ': give a .json, .yaml or .yml file';
  const most = isDrawn(path) ? MOST_IMAGE_BYTES : MOST_TEXT_BYTES;
  const bytes = await readBounded(path, `the configuration file ${path}`, most, remedy);
  const values: Record<string, unknown> = {};
  const config = parse(path, bytes);
  const digests = digestsIn(path, config, table);
  for (const [key, given] of Object.entries(config)) {
    if (digests.has(key)) continue;
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
    const read = readValue(`${keyOf(found.name)} in ${path}`, found.option, value);
    const digest = digests.get(found.option.digestKey ?? '');
    const isSought = found.option.isInput === true && !typed.has(found.name);
    const sought = isSought ? placed({ file: path, key, option: found.name, digest }, read) : read;
    values[found.name] = joined(before, sought, found.option);
  }
  return values;
}

/** Digests of input files by their keys. */
function digestsIn(path: string, config: Record<string, unknown>, table: OptionTable): Map<string, string> {
  const keys = Object.values(table).flatMap(({ digestKey }) => digestKey ?? []);
  const found = keys.filter((key) => (config[key] ?? null) !== null);
  return new Map(
    found.map((key) => {
      const value = config[key];
      if (typeof value === 'string' && /^([0-9a-f]{16})+$/.test(value)) return [key, value];
      throw new UsageError(
        `${key} in ${path} is the first 16 digits of each file's sha256, got ${JSON.stringify(value)}: leave it out`,
      );
    }),
  );
}

/** The name of an option in a configuration file. */
export function keyOf(name: string): string {
  return name.replaceAll('-', '_');
}

function parse(path: string, bytes: Buffer): Record<string, unknown> {
  const ending = /\.[^./\\]+$/.exec(path)?.[0].toLowerCase() ?? '';
  if (isDrawn(path)) {
    const config = configOfVideo(bytes);
    if (config !== null) return config;
    throw new UsageError(
      `${path} does not say how it was drawn: give an image or a video that svc drew, or a .json or .yaml file`,
    );
  }
  if (!['.json', '.yaml', '.yml'].includes(ending)) {
    throw new UsageError(`${path} is not a configuration file: give a .json, .yaml or .yml file`);
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
  const near = meantBy(key, table);
  return new UsageError(
    `${path} has the key ${JSON.stringify(key)}, which is not an option${near === null ? '' : `; did you mean ${keyOf(near)}?`}`,
  );
}
