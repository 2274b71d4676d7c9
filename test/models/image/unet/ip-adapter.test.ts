// Tokens of IP-Adapters against diffusers: from the embedding of an image, and gathered from its states.

import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { IP_ADAPTER } from '../../../../src/engine/image/families/stable-diffusion/ip-adapter-layout.ts';
import { renameTensors } from '../../../../src/files/pipeline/renamed-tensors.ts';
import { openDiskSource } from '../../../../src/files/disk/source-disk.ts';
import { readSafetensors } from '../../../../src/files/tensors/safetensors.ts';
import { ipAdapter } from '../../../../src/models/image/unet/ip-adapter.ts';
import { readIPAdapterConfig } from '../../../../src/models/image/unet/ip-adapter-config.ts';
import { readUNetConfig } from '../../../../src/models/image/unet/unet-config.ts';
import { describeGoldens, expectAgreement, load, type ModuleGolden } from '../../image-golden.ts';

const GOLDENS = ['ip-adapter-sd1', 'ip-adapter-sd1-plus', 'ip-adapter-sdxl'];

async function openAdapter(golden: ModuleGolden) {
  const source = await openDiskSource(golden.weightsPath);
  const { tensors } = await readSafetensors(source);
  await source.close();
  const renamed = renameTensors(tensors, IP_ADAPTER.names(tensors));
  const { config } = IP_ADAPTER.configure(renamed);
  const of = golden.weightsPath.includes('sdxl') ? 'sdxl' : 'sd1';
  const folder = golden.weightsPath.replace(/ip-adapters\/.*$/, `${of}/unet/config.json`);
  const unet = readUNetConfig(JSON.parse(readFileSync(folder, 'utf8')) as Record<string, unknown>);
  return { config: readIPAdapterConfig(config), unet };
}

describeGoldens(GOLDENS, async (golden, device, run) => {
  const { config, unet } = await openAdapter(golden);
  const model = await load(
    device,
    golden,
    (weights) => ipAdapter(config, unet, weights),
    (tensors) => renameTensors(tensors, IP_ADAPTER.names(tensors)),
  );
  const { values } = await run((tape, input) => {
    const tokens = model.tokens(tape, input(golden.inputs.get('encoded')!));
    const all = model.keyValues(tokens);
    expect(all).toHaveLength(golden.weightsPath.includes('sdxl') ? 8 : 7);
    return [tokens, ...all];
  });
  expectAgreement(values[0]!, golden.outputs.get('tokens')!);
});
