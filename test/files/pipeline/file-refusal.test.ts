import { describe, expect, it } from 'vitest';
import { knownPipelines } from '../../../src/engine/image/families/registry.ts';
import { refuseFile } from '../../../src/files/pipeline/file-refusal.ts';
import { EngineError } from '../../../src/files/error.ts';
import { memorySource } from '../memory-source.ts';

const source = memorySource('m.safetensors', new Uint8Array(8));

function refusalOf(path: string, name: string): EngineError {
  const entry = { name, dtype: 'F32' as const, shape: [2], source, offset: 0, bytes: 8 };
  try {
    refuseFile(path, new Map([[name, entry]]), knownPipelines());
  } catch (error) {
    if (error instanceof EngineError) return error;
    throw error;
  }
}

describe('a safetensors file of a language model', () => {
  it.each([
    'model.embed_tokens.weight',
    'model.language_model.embed_tokens.weight',
    // The second of several files.
    'model.layers.20.input_layernorm.weight',
    'transformer.wte.weight',
    'bert.embeddings.word_embeddings.weight',
  ])('with %s is refused with the folder to give', (name) => {
    const { code, message } = refusalOf('/models/tiny/model.safetensors', name);
    expect(code).toBe('unsupported');
    expect(message).toMatch(
      /^\/models\/tiny\/model\.safetensors holds weights of a language model, which is opened by its folder: give \/models\/tiny with its config\.json/,
    );
    expect(refusalOf('model.safetensors', name).message).toContain(
      'give the folder that it lies in with its',
    );
    expect(refusalOf('C:\\tiny\\model.safetensors', name).message).toContain('give C:\\tiny with its');
  });

  it.each([
    'base_model.model.model.layers.0.self_attn.o_proj.lora_A.weight',
    'text_model.encoder.layers.0.self_attn.q_proj.weight',
    'encoder.embed_tokens.weight',
    'layers.0.attention.to_q.weight',
  ])('is not what one with %s is', (name) => {
    expect(refusalOf('m.safetensors', name).message).not.toContain('language model');
  });
});
