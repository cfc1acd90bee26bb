/** Bytes of the header of every frame (RFC 9113 4.1). */
export const FRAME_HEADER = 9;
/** The largest payload that every endpoint must accept, and the largest that we do (RFC 9113 4.2). */
export const MAX_FRAME = 16_384;
/** The window of a stream and of a connection unless changed (RFC 9113 6.9.2). */
export const DEFAULT_WINDOW = 65_535;
/** RFC 9113 6.9.1. */
export const MAX_WINDOW = 0x7fffffff;
export const MAX_STREAM_ID = 0x7fffffff;

/** RFC 9113 6, and RFC 9218 7.1. */
export const TYPE = {
  data: 0,
  headers: 1,
  priority: 2,
  rstStream: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
  priorityUpdate: 16,
} as const;

export const FLAG = { ack: 1, endStream: 1, endHeaders: 4, padded: 8, priority: 32 } as const;

/** RFC 9113 7. */
export const ERROR = {
  none: 0,
  protocol: 1,
  internal: 2,
  flowControl: 3,
  settingsTimeout: 4,
  streamClosed: 5,
  frameSize: 6,
  refusedStream: 7,
  cancel: 8,
  compression: 9,
  connect: 10,
  enhanceYourCalm: 11,
  inadequateSecurity: 12,
  http11Required: 13,
} as const;

/** RFC 9113 6.5.2, RFC 8441 3, RFC 9218 2.1. */
export const SETTING = {
  headerTableSize: 1,
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
  maxHeaderListSize: 6,
  enableConnectProtocol: 8,
  noRfc7540Priorities: 9,
} as const;

/** Writes a frame's header. @returns where its payload begins. */
export function writeFrameHeader(out: Buffer, at: number, length: number, type: number, flags: number, stream: number): number {
  out[at] = length >>> 16;
  out[at + 1] = length >>> 8;
  out[at + 2] = length;
  out[at + 3] = type;
  out[at + 4] = flags;
  return writeWord(out, at + 5, stream);
}

/** Writes 32 bits. @returns the end. */
export function writeWord(out: Buffer, at: number, word: number): number {
  out[at] = word >>> 24;
  out[at + 1] = word >>> 16;
  out[at + 2] = word >>> 8;
  out[at + 3] = word;
  return at + 4;
}

/** 32 bits as an unsigned number. */
export const readWord = (bytes: Buffer, at: number): number =>
  (((bytes[at] as number) << 24) | ((bytes[at + 1] as number) << 16) | ((bytes[at + 2] as number) << 8) | (bytes[at + 3] as number)) >>> 0;
