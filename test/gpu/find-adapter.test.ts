// What is read off an adapter, with stand-ins for those of browsers that hide names.

import { expect, it } from 'vitest';
import { profileOf } from '../../src/gpu/adapter-profile.ts';
import { findAdapters } from '../../src/gpu/find-adapter.ts';

interface Info {
  description?: string;
  isFallbackAdapter?: boolean;
}

/** A WebGPU with one adapter, which answers to every preference. */
function gpuOf(info: Info, wgslLanguageFeatures?: Set<string>): GPU {
  const names = { vendor: '', architecture: '', device: '', description: '' };
  const adapter = { info: { ...names, ...info }, limits: {}, features: new Set(['shader-f16']) };
  return { requestAdapter: () => Promise.resolve(adapter), wgslLanguageFeatures } as unknown as GPU;
}

it.each([
  ['Firefox on lavapipe', { isFallbackAdapter: true }, true],
  ['Firefox on a card', { isFallbackAdapter: false }, false],
  ['an older browser', {}, false],
  ['an older Chromium on SwiftShader', { description: 'SwiftShader Device (LLVM 10.0.0)' }, true],
])('findAdapters() finds software by the adapter itself or by its name: %s', async (_, info, software) => {
  const [found] = await findAdapters(gpuOf(info));
  expect(found!.summary.software).toBe(software);
  expect(profileOf(found!.summary).name).toBe(software ? 'cpu' : 'discrete');
});

it('findAdapters() lists an adapter once, with the language features of its WebGPU', async () => {
  const [found, ...others] = await findAdapters(gpuOf({}, new Set(['pointer_composite_access'])));
  expect(others).toEqual([]);
  expect([...found!.languageFeatures]).toEqual(['pointer_composite_access']);
  expect([...(await findAdapters(gpuOf({})))[0]!.languageFeatures]).toEqual([]);
});
