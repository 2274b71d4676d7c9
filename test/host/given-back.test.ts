// Device and storage are released if opening fails late, and if closing fails.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, vi, type MockInstance } from 'vitest';
import { EMBEDDING } from '../../src/host/kinds/embedding.ts';
import type { AnyKind } from '../../src/host/kinds/model-kind.ts';
import { openInline } from '../../src/host/open.ts';
import { IMAGE } from '../../src/host/kinds/image.ts';
import type { Platform, PageStorage } from '../../src/engine/platform/platform.ts';
import { nodePlatform } from '../../src/host/node/platform.ts';
import { TEXT } from '../../src/host/kinds/text.ts';
import type { OpenEvent } from '../../src/engine/opening/open-event.ts';
import type { Device } from '../../src/gpu/device.ts';
import { goldenModel } from '../engine/fixture.ts';
import { tinyPipeline } from '../engine/image/pipeline-golden.ts';

/** Returns the platform and everything that was opened on it. */
function watched() {
  const devices: Device[] = [];
  const closes: MockInstance<PageStorage['close']>[] = [];
  const platform: Platform = {
    ...nodePlatform,
    async openDevice(options) {
      devices.push(await nodePlatform.openDevice(options));
      return devices.at(-1)!;
    },
    async openPageStore(options) {
      const storage = await nodePlatform.openPageStore!(options);
      closes.push(vi.spyOn(storage, 'close'));
      return storage;
    },
  };
  return { platform, devices, closes };
}

/** Returns a listener that throws at an event after the kernels are warm. */
function failAt(type: OpenEvent['type']) {
  let isWarm = false;
  return (event: OpenEvent): void => {
    if (isWarm && event.type === type) throw new Error('enough');
    if (event.type === 'warmup') isWarm = event.done === event.total || type === 'warmup';
  };
}

const MEMORY = { memoryBudget: 2 ** 30 };

it('a text model that fails once it is on the device frees the device', async () => {
  const { path, remove } = goldenModel('qwen3');
  writeFileSync(join(path, 'chat_template.jinja'), '{% if %}'); // the note on it comes last
  const stored = mkdtempSync(join(tmpdir(), 'svc-stored-'));
  const { platform, devices, closes } = watched();
  const options = { ...MEMORY, model: path, storageCache: stored };
  await expect(openInline(TEXT, platform, options, failAt('note'))).rejects.toThrow('enough');
  expect(devices).toHaveLength(1);
  await devices[0]!.lost;
  expect(closes).toHaveLength(1);
  expect(closes[0]).toHaveBeenCalledOnce();
  remove();
  rmSync(stored, { recursive: true });
});

it('an embedding model that fails once it is on the device frees the device', async () => {
  const { path, remove } = goldenModel('qwen3');
  const { platform, devices } = watched();
  const options = { ...MEMORY, model: path };
  await expect(openInline(EMBEDDING, platform, options, failAt('warmup'))).rejects.toThrow('enough');
  expect(devices).toHaveLength(1);
  await devices[0]!.lost;
  remove();
});

it('a text model whose storage fails as it closes frees the device', async () => {
  const { path, remove } = goldenModel('qwen3');
  const stored = mkdtempSync(join(tmpdir(), 'svc-stored-'));
  const { platform, devices, closes } = watched();
  const model = await openInline(TEXT, platform, { ...MEMORY, model: path, storageCache: stored });
  closes[0]!.mockRejectedValue(new Error('the disk is gone'));
  const closing = [model.close(), model.close()];
  for (const promise of closing) await expect(promise).rejects.toThrow('the disk is gone');
  await devices[0]!.lost;
  expect(await model.ended).toMatchObject({ code: 'cancelled' });
  remove();
  rmSync(stored, { recursive: true });
});

it('image and embedding models whose files fail as they are closed free the device', async () => {
  const { path, remove } = goldenModel('qwen3');
  for (const [kind, model] of [
    [EMBEDDING, path],
    [IMAGE, tinyPipeline('sd1')],
  ] as unknown as [AnyKind, string][]) {
    const { platform, devices } = watched();
    const opened = await openInline(kind, onBrokenDisk(platform), { ...MEMORY, model } as never);
    const closing = [opened.close(), opened.close()];
    for (const promise of closing) await expect(promise).rejects.toThrow('the disk is gone');
    await devices[0]!.lost;
    expect(await opened.ended).toMatchObject({ code: 'cancelled' });
  }
  remove();
});

/** Returns a platform whose files can be read but not closed. */
function onBrokenDisk(platform: Platform): Platform {
  return {
    ...platform,
    async openFolder(path) {
      const folder = await platform.openFolder(path);
      const open: typeof folder.open = async (name) => {
        const source = await folder.open(name);
        if (!name.endsWith('.safetensors')) return source;
        const close = () => source.close().then(() => Promise.reject(new Error('the disk is gone')));
        return Object.assign(Object.create(source) as typeof source, { close });
      };
      return Object.assign(Object.create(folder) as typeof folder, { open });
    },
  };
}
