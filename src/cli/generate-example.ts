// Where `svc generate` is not told which model or what to draw: what is missing, and a command that works, of what was given and made up
// for the rest.

import { existsSync } from 'node:fs';
import { relative } from 'node:path';
import { shippedImageModelPath } from '../index.ts';
import { UsageError } from './exit.ts';
import type { GenerateOptions } from './generate-options.ts';

const EXAMPLE = 'a red balloon over snowy mountains';

export function missing(options: GenerateOptions, model: boolean, prompt: boolean): UsageError {
  const shipped = shippedImageModelPath();
  const inside = relative('.', shipped);
  const [path, what] = existsSync(shipped)
    ? [inside.startsWith('..') ? shipped : inside, 'the model that ships']
    : ['stable-diffusion-v1-5/stable-diffusion-v1-5', 'a model of the hub'];
  const names = [model ? '--model-path' : '', prompt ? '--prompt' : ''].filter(Boolean).join(' and ');
  const file = options.config === undefined ? '' : `, and ${options.config} does not say it either`;
  const words = ['--model-path', options['model-path'] ?? path];
  if (options['prompt-path'] !== undefined) words.push('--prompt-path', options['prompt-path']);
  else for (const text of options.prompt ?? [EXAMPLE]) words.push('--prompt', text);
  const command = ['npx svc-engine generate', ...words.map(shellWord)].join(' ');
  const does = model ? `draws with ${what}` : 'draws';
  return new UsageError(
    `${names} ${model && prompt ? 'are' : 'is'} missing${file}: for example \`${command}\` ${does}`,
  );
}

/** As a shell reads it back. */
function shellWord(text: string): string {
  if (/^[\w./:@%+,=-]+$/.test(text)) return text;
  return /["$`\\!]/.test(text) ? `'${text.replaceAll("'", String.raw`'\''`)}'` : `"${text}"`;
}
