const KEEP_ALIVE_LENGTH = 10;
const CLOSE_LENGTH = 5;

/** Whether the whole value of Connection is `keep-alive`, in the spellings that nearly all senders use. */
export const isKeepAlive = (raw: string, from: number, to: number): boolean =>
  to - from === KEEP_ALIVE_LENGTH && (raw.startsWith('keep-alive', from) || raw.startsWith('Keep-Alive', from));

/** The same for `close`. */
export const isClose = (raw: string, from: number, to: number): boolean => to - from === CLOSE_LENGTH && raw.startsWith('close', from);
