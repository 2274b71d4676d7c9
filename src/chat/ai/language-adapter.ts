// A text model as a LanguageModelV3: events of a request as parts of the SDK's stream, of which its whole results are folded.

import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3Content,
  LanguageModelV3GenerateResult,
  LanguageModelV3StreamPart,
  LanguageModelV3StreamResult,
  SharedV3Warning,
} from '@ai-sdk/provider';
import type { TextEvent, TextModel, TextRequest, Tool } from '../../engine/text/calls/text-model.ts';
import { headerWarnings, ownOptions, PROVIDER, sdkError } from './ai-options.ts';
import { toMessages } from './ai-prompt.ts';
import { StreamParts } from './stream-parts.ts';

type Finish = Extract<LanguageModelV3StreamPart, { type: 'finish' }>;

export class LanguageAdapter implements LanguageModelV3 {
  readonly specificationVersion = 'v3';
  readonly provider = PROVIDER;
  readonly modelId: string;
  /** The SDK downloads what messages name by an address. */
  readonly supportedUrls = {};
  readonly #open: () => Promise<TextModel>;

  constructor(open: () => Promise<TextModel>, modelId: string) {
    this.#open = open;
    this.modelId = modelId;
  }

  async doGenerate(options: LanguageModelV3CallOptions): Promise<LanguageModelV3GenerateResult> {
    const { request, warnings } = toRequest(options);
    const content: LanguageModelV3Content[] = [];
    let finish!: Finish;
    for await (const part of this.#parts(request, options)) {
      const last = content.at(-1);
      if (part.type === 'text-start') content.push({ type: 'text', text: '' });
      else if (part.type === 'reasoning-start') content.push({ type: 'reasoning', text: '' });
      else if (part.type === 'text-delta' || part.type === 'reasoning-delta')
        (last as { text: string }).text += part.delta;
      else if (part.type === 'tool-call') content.push(part);
      else if (part.type === 'finish') finish = part;
    }
    const { usage, finishReason } = finish;
    return { content, usage, finishReason, warnings, response: { modelId: this.modelId } };
  }

  async doStream(options: LanguageModelV3CallOptions): Promise<LanguageModelV3StreamResult> {
    const { request, warnings } = toRequest(options);
    const parts = this.#parts(request, options);
    // A request that is refused fails the call, not its stream.
    const first = await parts.next();
    const { modelId } = this;
    return {
      stream: new ReadableStream<LanguageModelV3StreamPart>({
        start(controller) {
          controller.enqueue({ type: 'stream-start', warnings });
          controller.enqueue({ type: 'response-metadata', modelId });
          if (!first.done) controller.enqueue(first.value);
        },
        async pull(controller) {
          try {
            const { done, value } = await parts.next();
            if (done) controller.close();
            else controller.enqueue(value);
          } catch (error) {
            if (options.abortSignal?.aborted) return controller.error(error);
            controller.enqueue({ type: 'error', error });
            controller.close();
          }
        },
        async cancel() {
          await parts.return();
        },
      }),
    };
  }

  async *#parts(
    request: TextRequest,
    { abortSignal: signal, includeRawChunks }: LanguageModelV3CallOptions,
  ): AsyncGenerator<LanguageModelV3StreamPart, void, void> {
    try {
      signal?.throwIfAborted();
      const model = await this.#open();
      const parts = new StreamParts();
      for await (const event of model.generate(request, signal ? { signal } : {})) {
        if (includeRawChunks) yield { type: 'raw', rawValue: event };
        if (isAborted(event)) signal?.throwIfAborted();
        yield* parts.of(event);
      }
    } catch (error) {
      throw sdkError(error, signal);
    }
  }
}

const isAborted = (event: TextEvent): boolean => event.type === 'done' && event.finishReason === 'abort';

function toRequest(options: LanguageModelV3CallOptions): {
  request: TextRequest;
  warnings: SharedV3Warning[];
} {
  const { prompt, responseFormat, toolChoice, headers, stopSequences, providerOptions } = options;
  const warnings = headerWarnings(headers);
  const tools = (options.tools ?? []).flatMap((one): Tool[] => {
    if (one.type === 'function') {
      const { name, description, inputSchema, strict } = one;
      const more = {
        ...(description !== undefined && { description }),
        ...(strict !== undefined && { strict }),
      };
      return [
        { type: 'function', function: { name, ...more, parameters: inputSchema as Record<string, unknown> } },
      ];
    }
    warnings.push({ type: 'unsupported', feature: `tool ${one.id}`, details: 'tools run in the program' });
    return [];
  });
  const { templateKwargs, ...own } = ownOptions(providerOptions);
  const request: TextRequest = {
    prompt: {
      messages: toMessages(prompt),
      ...(tools.length > 0 && { tools }),
      ...(templateKwargs !== undefined && { templateKwargs: templateKwargs as Record<string, unknown> }),
    },
    ...given({
      maxTokens: options.maxOutputTokens,
      temperature: options.temperature,
      topP: options.topP,
      topK: options.topK,
      presencePenalty: options.presencePenalty,
      frequencyPenalty: options.frequencyPenalty,
      seed: options.seed,
    }),
    ...(stopSequences?.length && { stop: stopSequences }),
    ...(tools.length > 0 &&
      toolChoice && {
        toolChoice: toolChoice.type === 'tool' ? { name: toolChoice.toolName } : toolChoice.type,
      }),
    ...(responseFormat?.type === 'json' && {
      constraint: { type: 'json_schema' as const, schema: responseFormat.schema ?? { type: 'object' } },
    }),
    ...own,
  };
  return { request, warnings };
}

/** The members that have values. */
function given<T extends object>(members: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value != null)) as {
    [K in keyof T]?: NonNullable<T[K]>;
  };
}
