// svc plan: what a model takes on this machine, before its weights are downloaded or a GPU is opened.

import { bytesText } from '../files/bytes-text.ts';
import { EngineError } from '../files/error.ts';
import { takenText } from '../files/media/media-nouns.ts';
import type { ModelPlan } from '../index.ts';
import { PLANNING } from '../options/jobs.ts';
import { imageOption } from '../options/names.ts';
import { MODEL_OPTIONS } from './options/arguments.ts';
import { createCommand } from './options/command.ts';
import { EXIT } from './process/exit.ts';
import { noteText } from './process/said.ts';
import { optionsOf, settingsGiven } from './options/setting-options.ts';
import { writeLine } from './process/terminal.ts';

export const plan = createCommand({
  name: 'plan',
  summary: 'Show what a model would take on the device, from its configuration and headers alone.',
  positionals: [
    {
      name: 'model',
      help: 'a folder, a .gguf file, an image model in one .safetensors file, or an id on the hub as owner/name or owner/name:Q4_K_M',
      required: true,
      elsewhere: MODEL_OPTIONS,
    },
  ],
  options: {
    ...optionsOf(PLANNING),
    json: { kind: 'boolean', group: 'Output', help: 'As JSON, in bytes.' },
  },
  notes: `Exit code ${EXIT.ok} where the model opens, ${EXIT.refused} where it is refused, ${EXIT.outOfMemory} where the budget is too small for it. Counted is what \`svc serve\` takes by default; \`svc chat\`, which has one request at a time, takes a little less.`,
  async run({ options, typed, positionals: [model = ''] }) {
    const { planModel } = await import('../index.ts');
    const planned = await planModel({ model, ...settingsGiven(PLANNING, options) }).catch(
      (error: unknown) => {
        throw asTyped(error);
      },
    );
    writeLine(
      options.json ? JSON.stringify(planned, null, 2) : describePlan(planned, typed, options.quantization),
    );
    return planned.opens ? EXIT.ok : EXIT.outOfMemory;
  },
});

/** An error about what would be drawn, under the name of the option. */
function asTyped(error: unknown): unknown {
  const flag = error instanceof EngineError && error.param !== null ? imageOption(error.param) : undefined;
  return error instanceof EngineError && flag !== undefined ? error.underName(flag) : error;
}

type Row = [name: string, text: string];

/** A plan as lines of text. `typed`: the options that were given. */
function describePlan(plan: ModelPlan, typed: ReadonlySet<string>, quantization: string): string {
  const { parameters, stored, ignored, contextLength, cache } = plan;
  const rows: Row[] = [
    ['model', `${plan.model} (${kindText(plan)})`],
    ['class', classText(plan)],
    ['weights', `${(parameters / 1e6).toFixed(1)} M parameters as ${stored.join(', ')}`],
    ...(contextLength === null ? [] : [['context', `${contextLength} tokens`] satisfies Row]),
    ...(cache === null ? [] : [['KV cache', cacheText(cache)] satisfies Row]),
    ...plan.components.map(componentRow),
    ...(ignored.tensors === 0
      ? []
      : [['ignored', `${ignored.tensors} tensors of ${ignored.modules.join(', ')}`] satisfies Row]),
    ...plan.notes.map((note): Row => ['note', noteText(note)]),
    [
      'budget',
      `${bytesText(plan.budget)}${typed.has('memory-budget') ? '' : ', which this machine has for a model now, unless --memory-budget says otherwise'}`,
    ],
    ...plan.choices.map(choiceRow),
    ['result', verdict(plan, typed.has('quantization') ? quantization : null)],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, text]) => `${name.padEnd(width)}  ${text}`).join('\n');
}

/** `text and images` for a model that reads images, too. */
function kindText({ kind, media }: ModelPlan): string {
  return media.length === 0 ? kind : takenText(media);
}

/** The class in config.json, as the server names it, and the one of the text model within. */
function classText({ architecture, wrapper }: ModelPlan): string {
  return wrapper === null ? architecture : `${wrapper}, whose text model is ${architecture}`;
}

function componentRow({ name, className, parameters, weights }: ModelPlan['components'][number]): Row {
  const sizes = Object.entries(weights).map(([choice, bytes]) => `${choice} ${bytesText(bytes)}`);
  return [name, `${className}, ${(parameters / 1e6).toFixed(1)} M parameters: ${sizes.join(', ')}`];
}

function choiceRow({
  quantization,
  weights,
  scratch,
  cache,
  contextLength,
  opens,
}: ModelPlan['choices'][number]): Row {
  const tokens = contextLength === null ? '' : ` with ${contextLength} tokens of context`;
  return [
    quantization === 'none' ? 'as stored' : quantization,
    `${bytesText(weights)} of weights, ${bytesText(scratch)} beside${cache > 0 ? `, ${bytesText(cache)} of cache` : ''}: ${opens ? `opens${tokens}` : 'does not fit'}`,
  ];
}

function cacheText({ dtype, tokenBytes, lengths }: NonNullable<ModelPlan['cache']>): string {
  const listed = lengths.map(({ tokens, bytes }) => `${tokens} tokens ${bytesText(bytes)}`);
  return `${bytesText(tokenBytes)} a token in ${dtype}: ${listed.join(', ')}`;
}

function verdict({ fits, opens, change, choices }: ModelPlan, asked: string | null): string {
  const isListed = choices.some(({ quantization }) => quantization === asked);
  if (fits) return isListed ? `fits, ${asked === 'none' ? 'as stored' : `as ${asked}`}` : 'fits';
  if (change === null) return 'does not fit';
  const flags = [
    ...(change.quantization === undefined ? [] : [`--quantization ${change.quantization}`]),
    ...(change.contextLength === undefined ? [] : [`--context-length ${change.contextLength}`]),
    ...(change.cpuMoe === undefined ? [] : ['--cpu-moe']),
    ...(change.layerwiseOffload === undefined ? [] : ['--layerwise-offload']),
    ...(change.memoryBudget === undefined
      ? []
      : [`--memory-budget ${Math.ceil(change.memoryBudget / 2 ** 20)}MiB`]),
  ];
  return `${opens ? 'opens with a shorter context' : 'does not fit'}; it fits with ${flags.join(' ')}`;
}
