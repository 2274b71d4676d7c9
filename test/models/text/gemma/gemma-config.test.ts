// config.json of Gemma against transformers' reading, in published forms and in its own, and refusals.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { EngineError } from '../../../../src/files/error.ts';
import { readText } from '../../../../src/models/text/registry.ts';
import { readGemmaConfig } from '../../../../src/models/text/gemma/gemma-config.ts';

interface Reading {
  config: Record<string, unknown> & { architectures: [string] };
  error?: string;
  scale: number;
  ropes: [type: string, theta: number, factor: number][];
  windows: (number | null)[];
}

const readings = JSON.parse(
  readFileSync(new URL('../../../golden/gemma-configs.json', import.meta.url), 'utf8'),
) as Reading[];
const cases = readings.map((reading) => [JSON.stringify(reading.config), reading] as const);

describe('a configuration of Gemma has the values of transformers', () => {
  it.each(cases.filter(([, { error }]) => error === undefined))('%s', (_, { config, ...wanted }) => {
    const { heads, layers, ropes, ...read } = readGemmaConfig(config, config.architectures[0]);
    expect({
      ...read,
      ...heads,
      windows: layers.map(({ window }) => window),
      ropes: ropes.map(({ type, theta, factor }) => [type, theta, factor]),
    }).toMatchObject({ ...wanted, scale: expect.closeTo(wanted.scale, 12) as number });
    const rope = (window: number | null): number => (ropes.length > 1 && window !== null ? 1 : 0);
    expect(layers.map((layer) => layer.rope)).toEqual(wanted.windows.map(rope));
  });

  it.each(cases.filter(([, { error }]) => error !== undefined))('or a refusal: %s', (_, { config }) => {
    expect(() => readGemmaConfig(config, config.architectures[0])).toThrow(EngineError);
  });
});

it.each([
  [{ hidden_activation: 'gelu' }, 'unsupported', /hidden_activation "gelu" is not built/],
  [{ head_dim: 520 }, 'unsupported', /head_dim 520 is not built; choose a model/],
  [
    { num_key_value_heads: 3 },
    'bad_checkpoint',
    /num_key_value_heads is 3, which does not divide num_attention_heads 8: take/,
  ],
  [{ layer_types: ['full_attention'] }, 'bad_checkpoint', /for each of 26 layers is needed/],
  [{ final_logit_softcapping: 0 }, 'bad_checkpoint', /final_logit_softcapping is 0/],
])('a configuration of Gemma with %j is refused', (config, code, message) => {
  expect(() => readGemmaConfig(config, 'Gemma3ForCausalLM')).toThrow(
    expect.objectContaining({ code, message: expect.stringMatching(message) }) as Error,
  );
});

it('a model whose tokens see later ones is refused where it should generate', () => {
  expect(() => readText({ use_bidirectional_attention: true }, 'Gemma3ForCausalLM')).toThrow(
    /use_bidirectional_attention true is not built for Gemma3ForCausalLM, which generates texts/,
  );
});
