// What svc plan prints, and its exit codes.

import { runCommand } from 'citty';
import { describe, expect, it, vi } from 'vitest';
import { plan } from '../../src/cli/plan.ts';
import { pull } from '../../src/cli/pull.ts';
import { rm } from '../../src/cli/rm.ts';
import { shippedImageModelPath, shippedModelPath } from '../../src/index.ts';

async function run(...rawArgs: string[]): Promise<{ out: string; code: unknown }> {
  const out: string[] = [];
  const write = vi.spyOn(process.stdout, 'write').mockImplementation((text) => out.push(String(text)) > 0);
  try {
    await runCommand(plan, { rawArgs });
    return { out: out.join(''), code: process.exitCode };
  } finally {
    write.mockRestore();
    process.exitCode = 0;
  }
}

describe('svc plan', () => {
  it('says that a model fits', async () => {
    const { out, code } = await run(shippedModelPath(), '--memory-budget', '1GiB');
    expect(code).toBe(0);
    for (const line of [
      /^model +.*svc-chat-mini \(text and images\)$/m,
      /^class +InternVLForConditionalGeneration, whose text model is Qwen3ForCausalLM$/m,
      /^weights +6\.6 M parameters as BF16$/m,
      /^KV cache +3 KiB a token in f16: 4096 tokens 12 MiB$/m,
      /^budget +1 GiB$/m,
      /^int4 .* opens with 4096 tokens of context$/m,
      /^result +fits$/m,
    ])
      expect(out).toMatch(line);
  });

  it('names the change with which it fits, and ends with 4 where it does not open', async () => {
    const { out, code } = await run(shippedModelPath(), '--memory-budget', '1MiB');
    expect(code).toBe(4);
    expect(out).toMatch(/^result +does not fit; it fits with --memory-budget \d+MiB$/m);
    const budget = /--memory-budget (\d+MiB)/.exec(out)![1]!;
    expect((await run(shippedModelPath(), '--memory-budget', budget)).out).toMatch(/^result +fits$/m);
  });

  it('lists the components of a pipeline, and prints JSON', async () => {
    const { out } = await run(shippedImageModelPath());
    expect(out).toMatch(/^unet +UNet2DConditionModel, 4\.0 M parameters: none [\d.]+ MiB, int8/m);
    expect(out).toMatch(/^note +unless they are quantized, convolutions are kept in Winograd's form/m);
    const { out: json } = await run(shippedImageModelPath(), '--json', '--memory-budget', '1GiB');
    expect(JSON.parse(json)).toMatchObject({ kind: 'image', budget: 2 ** 30, fits: true, cache: null });
  });

  it('counts what an image of the size that is asked for takes, and refuses lengths and sizes that the model does not draw', async () => {
    const planOf = async (...args: string[]) => {
      const { out } = await run(shippedImageModelPath(), '--json', '--memory-budget', '1GiB', ...args);
      return JSON.parse(out) as { notes: { message: string }[]; choices: { scratch: number }[] };
    };
    const [own, small] = [await planOf(), await planOf('--width', '64', '--height', '64')];
    expect(small.choices[0]!.scratch).toBeLessThan(own.choices[0]!.scratch);
    expect(small.notes.map(({ message }) => message).join()).toContain('while an image of 64 × 64 is drawn');
    const refused = (path: string, ...args: string[]) =>
      run(path, ...args).catch((error: Error) => error.message);
    expect(await refused(shippedImageModelPath(), '--num-frames', '3')).toBe(
      '--num-frames is 3, and this model draws images, which have one: leave it out',
    );
    expect(await refused(shippedModelPath(), '--width', '64')).toMatch(
      /^--width is for models of images, which .*: leave it out$/,
    );
  });

  it('throws the refusal of a folder that is not a model', async () => {
    await expect(run('/nowhere/at/all')).rejects.toMatchObject({ code: 'model_not_found' });
  });
});

it.each([plan, pull, rm])('svc plan takes its model without an option, and reports it', async (command) => {
  const wrong = runCommand(command, { rawArgs: ['--model-path', 'org/name'] });
  await expect(wrong).rejects.toThrow('there is no option --model-path here: give the model by itself');
});
