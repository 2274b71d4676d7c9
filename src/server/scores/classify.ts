// POST /v1/classify and /classify: labels of texts, as vLLM and SGLang have it.

import { listInputs } from '../body/bounded.ts';
import { bodyRoute } from '../service/route.ts';
import { refuseTask } from '../tokens/task.ts';
import { judgeOf, replyHead, valuesOf } from './judging.ts';
import { CLASSIFY_FIELDS } from './score-schema.ts';

export const CLASSIFY = bodyRoute(
  {
    summary: 'The label of texts, with the scores of all labels.',
    group: 'Embeddings',
    fields: CLASSIFY_FIELDS,
    required: ['input'],
    reply: 'Classes',
    schemas: [() => import('./score-reply-schema.ts')],
  },
  async ({ service, event, body }) => {
    const judge = await judgeOf({ service, event }, body, { article: 'a', noun: 'classifier' });
    const { classifier } = judge.info;
    if (classifier?.per !== 'text') return refuseTask(judge.info, 'classify');
    const values = await valuesOf(judge, { inputs: listInputs(body.input) }, body.input);
    const data = values.map((scores, index) => ({
      index,
      label: classifier.labels[scores.indexOf(Math.max(...scores))],
      probs: [...scores],
      num_classes: scores.length,
    }));
    return { ...replyHead('classify', body.model), data, usage: judge.usage() };
  },
);
