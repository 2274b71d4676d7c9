// Sound files of image models from which mutations begin (scripts/soak). Run with a folder: each base becomes a folder of files and a
// <base>.json beside it, with the options that open it; paths in them that begin with @/ are those of the files, which a mutant has in a folder
// of its own.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ADAPTER_BASES } from './mutation-adapters.ts';
import { CLIP_BASES } from './mutation-clips.ts';
import { FILE_BASES } from './mutation-files.ts';
import { writeTensors, type StoredTensor } from './tiny-tensors.ts';

export interface MutationBase {
  /** Files by name: tensors, or the bytes of a GGUF file. */
  files: Record<string, StoredTensor[] | Uint8Array>;
  options: { model: string; [option: string]: unknown };
  request?: object;
  /** Whether another name of a tensor is another word of prompts. */
  namesAreWords?: true;
}

export type MutationBases = Readonly<Record<string, () => MutationBase | Promise<MutationBase>>>;

const BASES: MutationBases = { ...FILE_BASES, ...CLIP_BASES, ...ADAPTER_BASES };

/** Writes the bases of these names, or all, into a folder that exists. */
export async function writeMutationBases(
  folder: string,
  names: readonly string[] = Object.keys(BASES),
): Promise<void> {
  for (const name of names) {
    const { files, ...job } = await BASES[name]!();
    const own = join(folder, name);
    mkdirSync(own);
    for (const [file, content] of Object.entries(files)) {
      if (content instanceof Uint8Array) writeFileSync(join(own, file), content);
      else writeTensors(join(own, file), content);
    }
    writeFileSync(`${own}.json`, JSON.stringify(job));
  }
}

const [, script, folder, ...names] = process.argv;
if (script && import.meta.url === pathToFileURL(script).href)
  await writeMutationBases(folder!, names.length > 0 ? names : undefined);
