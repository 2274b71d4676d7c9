// The package itself: its version and the model that ships in it, wherever it is installed.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { EngineError } from '../index.ts';

/** The same number of folders up from src/cli and from dist/cli. */
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export function packageVersion(): string {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  return version;
}

const MODELS = join(ROOT, 'models');

/** The folder of the chat model in the package; null in a source tree that has none yet. */
export function findShippedModel(): string | null {
  const names = existsSync(MODELS) ? readdirSync(MODELS).sort() : [];
  const name = names.find((entry) => existsSync(join(MODELS, entry, 'config.json')));
  return name === undefined ? null : join(MODELS, name);
}

export function shippedModelPath(): string {
  const path = findShippedModel();
  if (path !== null) return path;
  throw new EngineError(
    'model_not_found',
    `This installation has no model in ${MODELS}: name one to use instead.`,
  );
}
