// svc plan: estimates a model's memory before its weights are downloaded or a GPU is opened.

import { type ModelPlan, planModel, type PlanOptions } from '../index.ts';
import { WEIGHT_CHOICES } from '../options/model.ts';
import { createCommand } from './command.ts';
import { ENGINE_OPTIONS } from './engine-options.ts';
import { EXIT } from './exit.ts';
import { sizeText, writeLine } from './terminal.ts';

export const plan = createCommand({
  name: 'plan',
  summary: 'Show what a model would take on the device, from its configuration and headers alone.',
  positionals: [{ name: 'model', help: 'a folder, or an id on the hub as owner/name', required: true }],
  options: {
    revision: ENGINE_OPTIONS.revision,
    'context-length': ENGINE_OPTIONS['context-length'],
    quantization: {
      kind: 'choice',
      choices: WEIGHT_CHOICES,
      default: 'none',
      group: 'Model',
      help: 'Weights as the model would be opened with them; the other choices are listed too.',
    },
    'memory-budget': ENGINE_OPTIONS['memory-budget'],
    json: { kind: 'boolean', group: 'Output', help: 'As JSON, in bytes.' },
  },
  notes: `Exit code ${EXIT.ok} where the model opens, ${EXIT.refused} where it is refused, ${EXIT.outOfMemory} where the budget is too small for it.`,
  async run({ options, positionals: [model = ''] }) {
    const {
      revision,
      quantization,
      'context-length': contextLength,
      'memory-budget': memoryBudget,
    } = options;
    const asked: PlanOptions = {
      model,
      quantization,
      ...(revision !== undefined && { revision }),
      ...(contextLength !== undefined && { contextLength }),
      ...(memoryBudget !== undefined && { memoryBudget }),
    };
    const planned = await planModel(asked);
    writeLine(options.json ? JSON.stringify(planned, null, 2) : describePlan(planned, asked));
    return planned.opens ? EXIT.ok : EXIT.outOfMemory;
  },
});

/** A plan as lines of text. */
function describePlan(plan: ModelPlan, asked: PlanOptions): string {
  const { kind, architecture, parameters, stored, source, ignored, notes, contextLength, cache } = plan;
  const from = source === 'headers' ? '' : ', by its configuration alone';
  const rows: [string, string][] = [
    ['model', `${plan.model} (${kind})`],
    ['class', architecture],
    ['weights', `${(parameters / 1e6).toFixed(1)} M numbers as ${stored.join(', ')}${from}`],
    ...(contextLength === null ? [] : [['context', `${contextLength} tokens`] as [string, string]]),
    ...(cache === null ? [] : [['KV cache', cacheText(cache)] as [string, string]]),
    ...plan.components.map(({ name, className, parameters: count, weights }): [string, string] => [
      name,
      `${className}, ${(count / 1e6).toFixed(1)} M numbers: ${Object.entries(weights)
        .map(([choice, bytes]) => `${choice} ${sizeText(bytes)}`)
        .join(', ')}`,
    ]),
    ...(ignored.tensors === 0
      ? []
      : [['ignored', `${ignored.tensors} tensors of ${ignored.modules.join(', ')}`] as [string, string]]),
    ...notes.map((note): [string, string] => ['note', note]),
    [
      'budget',
      `${sizeText(plan.budget)}${asked.memoryBudget === undefined ? ', a share of the memory that is free now' : ''}`,
    ],
    ...plan.choices.map(
      ({ quantization, weights, scratch, contextLength: tokens, opens }): [string, string] => [
        quantization === 'none' ? 'as stored' : quantization,
        `${sizeText(weights)} of weights, ${sizeText(scratch)} beside: ${opens ? `opens${tokens === null ? '' : ` with ${tokens} tokens of context`}` : 'does not fit'}`,
      ],
    ),
    ['result', verdict(plan)],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, text]) => `${name.padEnd(width)}  ${text}`).join('\n');
}

function cacheText({ tokenBytes, lengths }: NonNullable<ModelPlan['cache']>): string {
  const listed = lengths.map(({ tokens, bytes }) => `${tokens} tokens ${sizeText(bytes)}`);
  return `${sizeText(tokenBytes)} a token: ${listed.join(', ')}`;
}

function verdict({ fits, opens, change }: ModelPlan): string {
  if (fits) return 'fits';
  if (change === null) return 'does not fit';
  const flags = [
    ...(change.quantization === undefined ? [] : [`--quantization ${change.quantization}`]),
    ...(change.contextLength === undefined ? [] : [`--context-length ${change.contextLength}`]),
    ...(change.memoryBudget === undefined
      ? []
      : [`--memory-budget ${Math.ceil(change.memoryBudget / 2 ** 20)}MiB`]),
  ];
  return `${opens ? 'opens with a shorter context' : 'does not fit'}; it fits with ${flags.join(' ')}`;
}
