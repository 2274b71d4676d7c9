// The set of loaded LoRAs, with a fake host: a LoRA that the host could not remove counts until it can.

import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { nodePlatform } from '../../../../src/host/node/platform.ts';
import { Loras, type Lora } from '../../../../src/engine/text/lora/loras.ts';
import { EngineError } from '../../../../src/files/error.ts';

const folderOf = (name: string): string =>
  fileURLToPath(new URL(`../../../golden/lora/${name}`, import.meta.url));

async function adaptersOfOne() {
  const held = new Set<Lora>();
  const state = { isFull: false };
  const adapters = new Loras(nodePlatform, { maxLoras: 1 }, () => {});
  await adapters.attach({
    add: async (adapter) => void held.add(adapter),
    async remove(adapter) {
      if (state.isFull) throw new EngineError('out_of_memory', 'no room for the change');
      held.delete(adapter);
    },
  });
  await adapters.load('one', folderOf('llama-all'));
  const names = (): string[] => [...held].map(({ name }) => name);
  return { adapters, state, names };
}

it('a LoRA that cannot be freed when it is unloaded is freed for the next one', async () => {
  const { adapters, state, names } = await adaptersOfOne();
  state.isFull = true;
  await expect(adapters.unload('one')).rejects.toThrow('no room for the change');
  await expect(adapters.load('two', folderOf('llama-some'))).rejects.toThrow('no room for the change');
  state.isFull = false;
  await adapters.load('one', folderOf('llama-some'));
  expect(names()).toEqual(['one']);
  expect(adapters.list()).toMatchObject([{ path: folderOf('llama-some') }]);
});

it('a LoRA that cannot be freed when its last request ends is freed for the next one', async () => {
  const { adapters, state, names } = await adaptersOfOne();
  const used = await adapters.acquire('one');
  await adapters.unload('one');
  await expect(adapters.load('two', folderOf('llama-some'))).rejects.toMatchObject({ code: 'overloaded' });
  state.isFull = true;
  adapters.release(used);
  await expect(adapters.load('two', folderOf('llama-some'))).rejects.toThrow('no room for the change');
  state.isFull = false;
  await adapters.load('two', folderOf('llama-some'));
  expect(names()).toEqual(['two']);
});
