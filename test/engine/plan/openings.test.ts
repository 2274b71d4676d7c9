// The order in which changes are tried for a model that does not fit, shown with a kind of model that is registered here.

import { describe, expect, it } from 'vitest';
import { EngineError } from '../../../src/files/error.ts';
import type { ModelPlan } from '../../../src/engine/plan/model-plan.ts';
import type {
  OpenOnPaper,
  PaperModel,
  PaperOpening,
  PaperSettings,
  PlanPlace,
} from '../../../src/engine/plan/paper-model.ts';
import { planOnPaper } from '../../../src/engine/plan/plan-on-paper.ts';

const WEIGHTS = { none: 1000, int8: 500, int4: 250 };
const CONTEXT = 8192;
/** Bytes of weights that stay on the device where layers are in host memory. */
const STREAMED = 100;

/** A byte of context takes a sixteenth of a byte; a shorter context of at least 1024 tokens opens, too. */
async function open(budget: number, settings: PaperSettings): Promise<PaperOpening> {
  const weights = settings.layerwiseOffload ? STREAMED : WEIGHTS[settings.quantization];
  const contextLength = Math.min(settings.contextLength!, 16 * (budget - weights));
  if (contextLength < 1024) throw new EngineError('out_of_memory', `${weights} bytes are too many`);
  return { weights, scratch: 0, bytes: weights + contextLength / 16, contextLength };
}

const MODEL: PaperModel = { quantizations: ['none', 'int8', 'int4'], contextLength: CONTEXT, open };

function plan(
  memoryBudget: number,
  {
    memory = 2 ** 20,
    isAuto = false,
    ...model
  }: Partial<PaperModel> & { memory?: number; isAuto?: boolean } = {},
): Promise<ModelPlan> {
  const openMemo: OpenOnPaper = async (path, options, _, note) => ({
    model: { ...MODEL, ...model },
    async choose() {
      note('chosen');
      if (isAuto) throw new EngineError('out_of_memory', 'no weights fit');
      return options.quantization === 'int8' ? 'int8' : 'none';
    },
    describe: () => ({
      kind: 'text',
      architecture: path,
      parameters: 1,
      stored: ['F32'],
      ignored: { modules: [], tensors: 0 },
    }),
  });
  return planOnPaper(openMemo, 'Memo', { model: 'memo', memoryBudget }, { memory } as PlanPlace);
}

describe('a model that is opened on paper', () => {
  it('needs no change if it fits, and values that its kind does not state are empty', async () => {
    const planned = await plan(1512);
    expect(planned).toMatchObject({ fits: true, opens: true, change: null, architecture: 'Memo' });
    expect(planned).toMatchObject({ wrapper: null, media: [], cache: null, components: [], budget: 1512 });
    expect(planned.notes.map(({ message }) => message)).toEqual(['chosen']);
    expect(planned.choices.map(({ contextLength }) => contextLength)).toEqual([CONTEXT, CONTEXT, CONTEXT]);
  });

  it('is given a shorter context rather than smaller weights', async () => {
    const { fits, opens, change } = await plan(1256);
    expect([fits, opens, change]).toEqual([false, true, { contextLength: 4096 }]);
  });

  it('is given smaller weights, with a shorter context if they need one', async () => {
    expect((await plan(1012)).change).toEqual({ quantization: 'int8' });
    expect((await plan(756)).change).toEqual({ quantization: 'int8', contextLength: 4096 });
  });

  it('has layers in host memory if no weights are small enough', async () => {
    const large = { quantizations: ['none'] as const };
    expect((await plan(800, { ...large, mayStream: true })).change).toEqual({ layerwiseOffload: true });
    expect((await plan(800, large)).change).toEqual({ memoryBudget: 1512 });
  });

  it('has experts in host memory rather than layers, and both if neither is enough', async () => {
    const least = ({ cpuMoe = false, layerwiseOffload = false }: PaperSettings): number =>
      1000 - (cpuMoe ? 600 : 0) - (layerwiseOffload ? 350 : 0);
    const mixture: Partial<PaperModel> = {
      ...{ quantizations: ['none'], mayStream: true, mayHostExperts: true },
      async open(budget, settings) {
        if (budget < least(settings)) throw new EngineError('out_of_memory', 'too small');
        return { weights: least(settings), scratch: 0, bytes: least(settings), contextLength: CONTEXT };
      },
    };
    expect((await plan(700, mixture)).change).toEqual({ cpuMoe: true });
    const stated = { quantization: 'none', cpuMoe: true };
    expect((await plan(700, { ...mixture, isAuto: true })).change).toEqual(stated);
    expect((await plan(300, mixture)).change).toEqual({ cpuMoe: true, layerwiseOffload: true });
    expect((await plan(700, { ...mixture, mayHostExperts: false })).change).toEqual({
      layerwiseOffload: true,
    });
  });

  it('is given a budget of the machine if nothing else makes it fit, or else the least useful one', async () => {
    expect((await plan(50)).change).toEqual({ memoryBudget: 1512 });
    const small = { quantization: 'int4', contextLength: 4096, memoryBudget: 506 };
    expect((await plan(50, { memory: 1000 })).change).toEqual(small);
  });

  it('is tried with larger budgets if its least budget is estimated too low', async () => {
    const least = async (): Promise<number> => 1500;
    expect((await plan(50, { least })).change).toEqual({ memoryBudget: 1512 });
    const never = async (): Promise<number> => 100;
    expect((await plan(50, { least: never, memory: 120 })).change).toBeNull();
  });
});
