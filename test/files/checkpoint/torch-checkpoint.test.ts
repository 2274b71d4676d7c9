// Checkpoints whose weights are files of torch.save.

import { cpSync, mkdtempSync, readdirSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import { openCheckpoint, type Checkpoint } from '../../../src/files/checkpoint/checkpoint.ts';
import { openDiskFolder } from '../../../src/files/disk/source-disk.ts';
import { TEXT_CLASSES } from '../../../src/engine/opening/architectures.ts';
import { torchFile, type WrittenTensor } from '../torch-writer.ts';

const GOLDEN = fileURLToPath(new URL('../../golden/llama', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'svc-torch-'));
afterAll(() => rmSync(folder, { recursive: true }));

async function tensorsOf({ tensors }: Checkpoint): Promise<WrittenTensor[]> {
  const entries = [...tensors.values()].map(async ({ name, dtype, shape, source, offset, bytes }) => {
    return { name, dtype, shape, bytes: await source.read(offset, bytes) } as WrittenTensor;
  });
  return Promise.all(entries);
}

async function readFrom(path: string): Promise<WrittenTensor[]> {
  const checkpoint = await openCheckpoint(await openDiskFolder(path), TEXT_CLASSES);
  const tensors = await tensorsOf(checkpoint);
  await checkpoint.close();
  return tensors;
}

it('files of torch have the tensors of safetensors, whole and in shards, and are read only where those are missing', async () => {
  const wanted = await readFrom(GOLDEN);
  cpSync(GOLDEN, folder, { recursive: true });
  const whole = join(folder, 'pytorch_model.bin');
  writeFileSync(whole, torchFile(wanted.slice(1)));
  expect(await readFrom(folder)).toEqual(wanted);
  for (const name of readdirSync(folder)) if (name.includes('safetensors')) unlinkSync(join(folder, name));
  writeFileSync(whole, torchFile(wanted));
  expect(await readFrom(folder)).toEqual(wanted);
  unlinkSync(whole);
  const shards = [wanted.slice(0, 5), wanted.slice(5)];
  const names = ['pytorch_model-00001-of-00002.bin', 'pytorch_model-00002-of-00002.bin'];
  shards.forEach((tensors, i) => writeFileSync(join(folder, names[i]!), torchFile(tensors)));
  const places = shards.flatMap((tensors, i) => tensors.map(({ name }) => [name, names[i]]));
  const index = JSON.stringify({ weight_map: Object.fromEntries(places) });
  writeFileSync(join(folder, 'pytorch_model.bin.index.json'), index);
  expect(await readFrom(folder)).toEqual(wanted);
});
