// POST /pooling: what a model gives for texts, be it vectors, scores of labels or those of each token, as vLLM has it.

import { listInputs } from '../body/bounded.ts';
import { bodyRoute } from '../service/route.ts';
import { base64 } from '../tokens/embeddings.ts';
import { refuseTask, taskOf } from '../tokens/task.ts';
import { judgeOf, replyHead, valuesOf } from './judging.ts';
import { POOLING_FIELDS } from './score-schema.ts';

export const POOLING = bodyRoute(
  {
    summary: 'Vectors of texts, or the scores of their labels or of those of their tokens.',
    group: 'Embeddings',
    fields: POOLING_FIELDS,
    required: ['input'],
    reply: 'Pooled',
    schemas: [() => import('./score-reply-schema.ts')],
  },
  async ({ service, event, body }) => {
    const judge = await judgeOf({ service, event }, body);
    const { info } = judge;
    const { dimensions, task = taskOf(info), encoding_format: format } = body;
    if (task !== taskOf(info)) refuseTask(info, task);
    const request = { inputs: listInputs(body.input), ...(dimensions !== undefined && { dimensions }) };
    const values = await valuesOf(judge, request, body.input);
    const columns = task === 'token_classify' ? info.dimensions : null;
    const encode = (given: Float32Array) => (columns === null ? [...given] : rowsOf(given, columns));
    const data = values.map((given, index) => ({
      index,
      object: 'pooling',
      data: format === 'base64' ? base64(given) : encode(given),
    }));
    return { ...replyHead('pool', body.model), data, usage: judge.usage() };
  },
);

function rowsOf(values: Float32Array, columns: number): number[][] {
  return Array.from({ length: values.length / columns }, (_, row) => [
    ...values.subarray(row * columns, (row + 1) * columns),
  ]);
}
