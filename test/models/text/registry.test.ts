// The registry of text architectures: distinct names, and GGUF files of every class that generates.

import { expect, it } from 'vitest';
import type { GgufClass } from '../../../src/files/gguf/model.ts';
import type { TextArchitecture } from '../../../src/models/text/blocks/architecture.ts';
import { ggufClasses, registerTextArchitecture, textClasses } from '../../../src/models/text/registry.ts';

/** Classes that generate and have no GGUF files, with the reason. */
const WITHOUT_GGUF: Readonly<Record<string, string>> = {
  GPTJForCausalLM: 'llama.cpp does not convert it',
  OPTForCausalLM: 'llama.cpp does not convert it',
  HeliumForCausalLM: 'llama.cpp does not convert it',
  MinistralForCausalLM: 'llama.cpp does not convert it',
  Glm4MoeLiteForCausalLM:
    'its files are named deepseek2 and open as DeepseekV3ForCausalLM, which computes the same',
  DeepseekV32ForCausalLM: 'files with an indexer are not read',
  GlmMoeDsaForCausalLM: 'files with an indexer are not read',
  Jais2ForCausalLM: 'files named jais2 are not read',
  VaultGemmaForCausalLM: 'llama.cpp does not convert it',
  VoxtralRealtimeTextModel: 'llama.cpp does not convert it',
  CwmForCausalLM: 'llama.cpp does not convert it',
  Phi4MMForCausalLM: 'llama.cpp does not convert it',
  Phi4MultimodalForCausalLM: 'llama.cpp does not convert it',
  MT5ForConditionalGeneration: 'files of encoder-decoder models are not read',
  T5ForConditionalGeneration: 'files of encoder-decoder models are not read',
  T5WithLMHeadModel: 'files of encoder-decoder models are not read',
  UMT5ForConditionalGeneration: 'files of encoder-decoder models are not read',
  BartForConditionalGeneration: 'llama.cpp does not convert it',
  BlenderbotForConditionalGeneration: 'llama.cpp does not convert it',
  M2M100ForConditionalGeneration: 'llama.cpp does not convert it',
  MBartForConditionalGeneration: 'llama.cpp does not convert it',
  MarianMTModel: 'llama.cpp does not convert it',
  PLBartForConditionalGeneration: 'llama.cpp does not convert it',
  PegasusForConditionalGeneration: 'llama.cpp does not convert it',
};

it('GGUF files of every class that generates open', () => {
  const opened = new Set([...ggufClasses().values()].flatMap(({ classNames }) => classNames));
  const generating = textClasses().filter(({ serves }) => serves.includes('generate'));
  const missing = generating.map(({ name }) => name).filter((name) => !opened.has(name));
  expect(missing.toSorted()).toEqual(Object.keys(WITHOUT_GGUF).toSorted());
});

it('GGUF files hold classes that the registry has', () => {
  const known = textClasses().map(({ name }) => name);
  for (const { name, classNames } of ggufClasses().values())
    expect([name, classNames.filter((one) => !known.includes(one))]).toEqual([name, []]);
});

it('two architectures cannot read GGUF files of one name', () => {
  const taken = [...ggufClasses().values()][0]!;
  const architecture: TextArchitecture = {
    classes: [{ name: 'TwiceForCausalLM', modelType: null, serves: ['generate'] }],
    gguf: [taken satisfies GgufClass],
    read: () => {
      throw new Error('not read');
    },
  };
  expect(() => registerTextArchitecture(architecture)).toThrow(`GGUF ${taken.name} is registered already`);
  expect(textClasses().some(({ name }) => name === 'TwiceForCausalLM')).toBe(false);
});
