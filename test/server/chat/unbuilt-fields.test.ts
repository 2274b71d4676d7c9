// The fields that accept only neutral values, and those without a meaning on a local server.

import { field } from '../field-test.ts';

const unsupported = (name: string, text = 'asks for what this server does not do') =>
  [text, { param: name, code: 'unsupported' }] as const;

field('modalities', {
  neutral: [['text']],
  refused: [[['text', 'audio'], ...unsupported('modalities', 'send ["text"]')]],
});
field('audio', { neutral: [{}], refused: [[{ voice: 'any' }, ...unsupported('audio', 'leave it out')]] });
field('web_search_options', {
  neutral: [null],
  refused: [
    [{ search_context_size: 'low' }, ...unsupported('web_search_options')],
    [{}, ...unsupported('web_search_options')],
  ],
});

field('verbosity', {
  neutral: ['low', 'medium', 'high'],
  refused: [['tiny', 'is none of low, medium, high', { param: 'verbosity' }]],
});
field('user', { neutral: ['anyone'] });
field('store', { neutral: [true] });
field('metadata', { neutral: [{ a: 'b' }] });
field('service_tier', { neutral: ['flex'] });
field('prompt_cache_key', { neutral: ['mine'] });
field('prompt_cache_retention', { neutral: ['24h'] });
field('safety_identifier', { neutral: ['someone'] });
