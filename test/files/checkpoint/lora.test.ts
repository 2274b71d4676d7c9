import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { openLora } from '../../../src/files/checkpoint/lora.ts';
import { openDiskFolder } from '../../../src/files/disk/source-disk.ts';
import type { Folder } from '../../../src/files/source.ts';
import { memorySource } from '../memory-source.ts';

const golden = (name: string): string => fileURLToPath(new URL(`../../golden/lora/${name}`, import.meta.url));

/** A LoRA of the goldens with another configuration, or other names. */
async function changed(config: Record<string, unknown>, names?: string[]): Promise<Folder> {
  const folder = await openDiskFolder(golden('llama-some'));
  const source = await folder.open('adapter_config.json');
  const own = JSON.parse(new TextDecoder().decode(await source.read(0, source.size))) as object;
  await source.close();
  return {
    path: folder.path,
    names: names ? () => Promise.resolve(names) : folder.names,
    open: (name) =>
      name === 'adapter_config.json'
        ? Promise.resolve(memorySource(name, new TextEncoder().encode(JSON.stringify({ ...own, ...config }))))
        : folder.open(name),
  };
}

it('a LoRA folder gives factors, ranks and scales by module', async () => {
  const file = await openLora(await openDiskFolder(golden('llama-all')));
  const of = (module: string) => {
    const { rank, scale, a, b } = file.modules.find(({ name }) => name.endsWith(module))!;
    return { rank, scale, a: a.shape, b: b.shape };
  };
  expect(file.modules.length).toBe(14);
  expect(file.rank).toBe(33);
  expect(of('layers.0.self_attn.q_proj')).toEqual({ rank: 5, scale: 16 / 5, a: [5, 64], b: [64, 5] });
  expect(of('layers.0.self_attn.v_proj')).toEqual({ rank: 8, scale: 0.5, a: [8, 64], b: [32, 8] });
  expect(of('layers.0.mlp.down_proj').rank).toBe(8);
  expect(of('layers.1.mlp.down_proj').rank).toBe(3);
  await file.close();
});

it('a LoRA folder has rank-stabilized scales, and an identity that follows its weights and settings', async () => {
  const file = await openLora(await openDiskFolder(golden('llama-some')));
  expect(file.modules[0]!.scale).toBe(3);
  const same = await openLora(await openDiskFolder(golden('llama-some')));
  expect(same.identity).toBe(file.identity);
  const other = await openLora(await changed({ lora_alpha: 7 }));
  expect(other.identity).not.toBe(file.identity);
  for (const opened of [file, same, other]) await opened.close();
});

it.each([
  [{ peft_type: 'IA3' }, 'peft_type'],
  [{ use_dora: true }, 'use_dora'],
  [{ bias: 'all' }, 'bias'],
  [{ fan_in_fan_out: true }, 'fan_in_fan_out'],
  [{ modules_to_save: ['lm_head'] }, 'modules_to_save'],
  [{ target_parameters: ['experts.gate_up_proj'] }, 'target_parameters'],
  [{ init_lora_weights: 'pissa_niter_16' }, 'init_lora_weights'],
])('a LoRA folder with %j is refused by name', async (config, param) => {
  await expect(openLora(await changed(config))).rejects.toMatchObject({ code: 'unsupported', param });
});

it.each([
  [{ r: 5 }, /asks for rank 5/],
  [{ rank_pattern: { up_proj: 9 } }, /up_proj has factors of .* asks for rank 9/],
])('a LoRA folder whose settings %j do not fit the tensors is refused', async (config, message) => {
  await expect(openLora(await changed(config))).rejects.toThrow(message);
});

it.each([
  ...[0, -1, 0.5, 1e9, '8', true, []].map((r) => [{ r }, 'r', /r is .*, an integer from 1 to 65536/]),
  ...['much', 1e308, true].map((alpha) => [
    { lora_alpha: alpha },
    'lora_alpha',
    /lora_alpha is .*, a number/,
  ]),
  [{ use_rslora: 'yes' }, 'use_rslora', /use_rslora is "yes", true or false/],
  [{ rank_pattern: 7 }, 'rank_pattern', /rank_pattern is 7, an object/],
  [{ rank_pattern: { up_proj: '9' } }, 'rank_pattern', /a rank from 1 to 65536 for each pattern/],
  [{ alpha_pattern: { up_proj: null } }, 'alpha_pattern', /for each pattern/],
  [{ rank_pattern: { '(': 8 } }, 'rank_pattern', /"\(", which is not a regular expression/],
  ...['(a+)+$', '(.|..){9}', '.*.*.*x', 'x'.repeat(600)].map((pattern) => [
    { rank_pattern: { [pattern]: 8 } },
    'rank_pattern',
    /may take too long to match/,
  ]),
] as [Record<string, unknown>, string, RegExp][])(
  'a LoRA folder with %j is refused by its key',
  async (config, param, message) => {
    await expect(openLora(await changed(config))).rejects.toMatchObject({
      code: 'bad_checkpoint',
      param,
      message: expect.stringMatching(message) as string,
    });
  },
);

it('patterns of modules in a LoRA folder match the ends of names', async () => {
  const patterns = ['v_proj', String.raw`layers\.(0|1)\.self_attn\.v_proj`, '.*v_proj'];
  for (const pattern of patterns) {
    const file = await openLora(await changed({ alpha_pattern: { q_proj: 1, [pattern]: 3 } }));
    const scale = file.modules.find(({ name }) => name.endsWith('v_proj'))?.scale;
    expect(scale, pattern).toBe(3 / Math.sqrt(file.rank));
    await file.close();
  }
});

it('LoRA folders without settings or weights are refused with what is missing', async () => {
  await expect(openLora(await changed({}, ['adapter_config.json']))).rejects.toMatchObject({
    code: 'bad_checkpoint',
    param: 'adapter_model.safetensors',
  });
  await expect(openLora(await openDiskFolder(golden('.')))).rejects.toMatchObject({
    code: 'model_not_found',
    param: 'adapter_config.json',
  });
});
