// The classes by which a model shows that it transcribes.

export { TRANSCRIBER_NAMES } from '../../models/audio/transcriber-names.ts';
