// The LoRAs that a checkpoint has for tasks, on the device: those of linear layers; pages add those of embeddings.

import { badCheckpoint, unsupported } from '../../files/error.ts';
import type { LoraModule } from '../../files/tensors/lora-module.ts';
import type { TensorEntry } from '../../files/tensors/safetensors.ts';
import type { Device } from '../../gpu/device.ts';
import type { Matrix } from '../../kernels/matrix.ts';
import type { TextTasks } from '../../models/text/blocks/architecture.ts';
import { LoraStore } from '../weights/adapt.ts';

/** Adds the LoRAs of all tasks, with the tasks' numbers; `unread`: without their values, for planning. Errors: bad_checkpoint, unsupported, out_of_memory. */
export async function loadTaskLoras(
  device: Device,
  matrices: readonly Matrix[],
  tensors: ReadonlyMap<string, TensorEntry>,
  { names, rank, scale, own }: TextTasks,
  { unread }: { unread: boolean },
): Promise<void> {
  const shared = matrices.filter((matrix) => matrix.parts.every(({ name }) => !own.test(name)));
  const store = new LoraStore(device, shared);
  const parts = shared.flatMap((matrix) => matrix.parts.map(({ name }) => name));
  if (!unread && !parts.some((name) => tensors.has(`${name}.lora_A`)))
    throw badCheckpoint(
      `config.json names the tasks ${names.join(', ')} in lora_adaptations, and no tensor holds LoRAs for them: fetch the whole checkpoint`,
      'lora_adaptations',
    );
  for (const [number, path] of names.entries()) {
    const modules = parts.flatMap((name): LoraModule[] => {
      const [a, b] = ['lora_A', 'lora_B'].map((factor) => tensors.get(`${name}.${factor}`));
      if (!a || !b) return [];
      const module = name.replace(/\.weight$/, '');
      return [
        { name: module, a: partOf(a, number, names.length), b: partOf(b, number, names.length), rank, scale },
      ];
    });
    const file = { path, modules, rank, identity: path, close: async () => {} };
    const { commit } = await store.prepare({ number }, file, { unread });
    commit();
  }
}

/** One of `count` equal parts of a tensor [count, …], whose bytes follow each other. */
function partOf(entry: TensorEntry, number: number, count: number): TensorEntry {
  const [parts, ...shape] = entry.shape;
  if (parts !== count || shape.length !== 2 || entry.coded)
    throw unsupported(
      `${entry.name} of [${entry.shape.join(', ')}] does not hold the LoRAs of ${count} tasks: take the file that the model was published with`,
      entry.name,
    );
  const bytes = entry.bytes / count;
  return { ...entry, shape, bytes, offset: entry.offset + number * bytes };
}
