// All adapters of a machine, with stand-ins for Dawn's binding, and with two software drivers at once.

import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { findEveryAdapter, type UseGpu } from '../../../src/gpu/adapters/every-adapter.ts';
import { equalCards } from '../../../src/gpu/adapters/pci-cards.ts';
import { adapterOf, findAdapters } from '../../../src/gpu/find-adapter.ts';
import { vulkanCacheFolder } from '../../../src/gpu/vulkan-cache.ts';
import { nodeArgs } from '../../started.ts';

interface Card {
  name: string;
  tag: string;
}

/** Dawn's binding on a machine with these cards; `selects`: whether Vulkan shows one card alone where it is asked to. */
function machineOf(cards: readonly Card[], selects: boolean): UseGpu {
  return ({ adapter = '', card }, use) => {
    const seen = cards.filter(({ tag }) => !selects || card === undefined || tag === card);
    const own = seen.find(({ name }) => name.includes(adapter));
    const named = seen.map(({ name }) => `\n * backend: 'vulkan', name: '${name}'`).join('');
    const device = own?.name.toLowerCase().replaceAll(/[^a-z\d]+/g, '-');
    const info = { vendor: 'v', architecture: 'a', device, description: device, tag: own?.tag };
    const gpu = {
      requestAdapter: () =>
        own
          ? Promise.resolve({ info, limits: {}, features: new Set() })
          : Promise.reject({ message: `no suitable backends found\nAvailable adapters:${named}` }),
    };
    return use(gpu as unknown as GPU);
  };
}

const card = (name: string, at: number): Card => ({ name, tag: `pci-0000_0${at}_00_0` });
const TWO = [card('NVIDIA A100', 1), card('NVIDIA A100', 2)];
const tagsOf = (cards: readonly Card[]) => cards.map(({ tag }) => tag);

const OTHER = card('Arc (B580)', 5);

it.each<[string, Card[], boolean, string[][], number[], number]>([
  ['cards of other names', [OTHER, card('NVIDIA A10', 3), ...TWO.slice(1)], false, [], [2, 3, 5], 0],
  ['a card whose name another one contains', [...TWO.slice(1), card('NVIDIA A10', 3)], false, [], [2], 1],
  ['equal cards that Vulkan can select', [...TWO, OTHER], true, [['x', 'y'], tagsOf(TWO)], [1, 2, 5], 0],
  ['equal cards that it cannot select', TWO, false, [tagsOf(TWO)], [1], 1],
  ['equal cards with unknown addresses', TWO, true, [['pci-0000_07_00_0', 'pci-0000_08_00_0']], [1], 1],
  ['fewer equal cards than on the bus', TWO, true, [[...tagsOf(TWO), 'pci-0000_03_00_0']], [1], 1],
])('%s', async (_, cards, selects, kinds, numbers, hidden) => {
  const use = machineOf(cards, selects);
  const every = await findEveryAdapter(await use({}, findAdapters), findAdapters, use, kinds);
  const tags = every.found.map(({ adapter }) => (adapter.info as unknown as Card).tag);
  expect(tags.toSorted((a, b) => a.localeCompare(b))).toEqual(numbers.map((at) => card('', at).tag));
  expect(every.found.map(({ summary }) => summary.index)).toEqual([...every.found.keys()]);
  expect(every.hidden).toHaveLength(hidden);
});

it('two ranks on equal cards get one each, or a refusal that names the card and the ways out', async () => {
  const place = (rank: number) => ({ rank, ranks: 2, isLogical: false });
  const open = machineOf(TWO, true);
  const { found } = await findEveryAdapter(await open({}, findAdapters), findAdapters, open, [tagsOf(TWO)]);
  expect([0, 1].map((rank) => adapterOf(found, undefined, place(rank)).adapter.info)).toMatchObject(
    TWO.map(({ tag }) => ({ tag })),
  );
  const shut = machineOf(TWO, false);
  const every = await findEveryAdapter(await shut({}, findAdapters), findAdapters, shut, [tagsOf(TWO)]);
  expect(() => adapterOf(every.found, undefined, place(1), every.hidden)).toThrow(
    /this machine has 1 \(0: nvidia-a100\), and NVIDIA A100, which .* equal: on Linux install .*VK_LAYER_MESA_device_select.* router, or let them share with `logicalRanks`$/,
  );
});

it('equal display controllers are listed by their addresses', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-pci-'));
  const add = (address: string, type: string, vendor: string, device: string): void => {
    mkdirSync(join(folder, address));
    for (const [name, value] of Object.entries({ class: type, vendor, device }))
      writeFileSync(join(folder, address, name), `${value}\n`);
  };
  add('0000:01:00.0', '0x030200', '0x10de', '0x2335');
  add('0000:c1:00.0', '0x030200', '0x10de', '0x2335');
  add('0000:02:00.0', '0x030000', '0x1a03', '0x2000');
  add('0000:03:00.0', '0x020000', '0x8086', '0x10fb');
  add('0000:03:00.1', '0x020000', '0x8086', '0x10fb');
  expect(equalCards(folder)).toEqual([['pci-0000_01_00_0', 'pci-0000_c1_00_0']]);
  expect(equalCards(join(folder, 'none'))).toEqual([]);
});

const drivers = ['lavapipe', 'swiftshader'].map((name) => join(vulkanCacheFolder(), name));
const icds = drivers.map((folder) => join(folder, 'icd.json'));
const cached = icds.every((icd) => existsSync(icd));
if (!cached) console.log('two software drivers at once: NOT RUN');

const OPEN = `
  const { listAdapters, openDevice } = await import(${JSON.stringify(new URL('../../../src/gpu/node.ts', import.meta.url).href)});
  const names = (await listAdapters()).map(({ description }) => description);
  const ranks = [];
  for (const rank of [0, 1])
    ranks.push(await openDevice({ place: { rank, ranks: 2 } }).then((device) => device.summary.description, (error) => error.message));
  process.stdout.write(JSON.stringify({ names, ranks }), () => process.exit());`;

function opened(icdFiles: readonly string[]): { names: string[]; ranks: string[] } {
  const { stdout, stderr } = spawnSync(process.execPath, nodeArgs(null, '--input-type=module', '-e', OPEN), {
    encoding: 'utf8',
    env: {
      ...process.env,
      SVC_VULKAN_DRIVER: 'system',
      LD_LIBRARY_PATH: drivers[0],
      VK_DRIVER_FILES: icdFiles.join(':'),
      VK_ICD_FILENAMES: icdFiles.join(':'),
      XDG_RUNTIME_DIR: tmpdir(),
    },
  });
  expect(stdout, stderr).not.toBe('');
  return JSON.parse(stdout) as ReturnType<typeof opened>;
}

it.runIf(cached)('two ranks run on two drivers, and equal adapters are refused by name', () => {
  const both = opened(icds);
  expect(both.names).toHaveLength(2);
  expect(both.ranks).toEqual(both.names);
  expect(both.names.join()).toMatch(/SwiftShader.*llvmpipe|llvmpipe.*SwiftShader/);
  const copy = mkdtempSync(join(tmpdir(), 'svc-driver-'));
  const library = join(copy, 'libvulkan_lvp_copy.so');
  copyFileSync(join(drivers[0]!, 'libvulkan_lvp.so'), library);
  const manifest = JSON.parse(readFileSync(icds[0]!, 'utf8')) as { ICD: object };
  writeFileSync(
    join(copy, 'icd.json'),
    JSON.stringify({ ...manifest, ICD: { ...manifest.ICD, library_path: library } }),
  );
  const equal = opened([icds[0]!, join(copy, 'icd.json')]);
  expect(equal.names).toHaveLength(1);
  expect(equal.ranks[1]).toMatch(/2 needs as many adapters.* 1 \(0: llvmpipe.*and llvmpipe.*equal: on Linux/);
});
