import { DEFAULT_WINDOW, ERROR, MAX_FRAME, MAX_WINDOW, readWord, SETTING } from './frame.ts';

/** Bytes of one setting: its identifier and its value (RFC 9113 6.5.1). */
const SETTING_BYTES = 6;
const MAX_ALLOWED_FRAME = 16_777_215;

/** What a peer has announced (RFC 9113 6.5.2), with the values that hold before it does. */
export class PeerSettings {
  headerTableSize = 4_096;
  /** The smallest `headerTableSize` since the previous SETTINGS frame. */
  minHeaderTableSize = 4_096;
  maxConcurrentStreams = Number.POSITIVE_INFINITY;
  initialWindowSize = DEFAULT_WINDOW;
  maxFrameSize = MAX_FRAME;
  enableConnectProtocol = false;
  /** Whether it wants the priorities of RFC 7540 to be ignored; null before its first SETTINGS (RFC 9218 2.1.1). */
  noRfc7540Priorities: boolean | null = null;

  /** Applies the settings of a frame in order. @returns the code of the connection error if one has an invalid value; else 0. */
  apply(payload: Buffer, from: number, to: number, isServer: boolean): number {
    this.minHeaderTableSize = this.headerTableSize;
    for (let at = from; at < to; at += SETTING_BYTES) {
      const id = ((payload[at] as number) << 8) | (payload[at + 1] as number);
      const code = this.set(id, readWord(payload, at + 2), isServer);
      if (code !== ERROR.none) return code;
    }
    this.noRfc7540Priorities ??= false;
    return ERROR.none;
  }

  private set(id: number, value: number, isServer: boolean): number {
    switch (id) {
      case SETTING.headerTableSize:
        this.headerTableSize = value;
        this.minHeaderTableSize = Math.min(this.minHeaderTableSize, value);
        return ERROR.none;
      case SETTING.enablePush:
        // A server must not enable it (RFC 9113 6.5.2). We never push.
        return value > 1 || (value === 1 && !isServer) ? ERROR.protocol : ERROR.none;
      case SETTING.maxConcurrentStreams:
        this.maxConcurrentStreams = value;
        return ERROR.none;
      case SETTING.initialWindowSize:
        if (value > MAX_WINDOW) return ERROR.flowControl;
        this.initialWindowSize = value;
        return ERROR.none;
      case SETTING.maxFrameSize:
        if (value < MAX_FRAME || value > MAX_ALLOWED_FRAME) return ERROR.protocol;
        this.maxFrameSize = value;
        return ERROR.none;
      case SETTING.enableConnectProtocol:
        // RFC 8441 3: 0 or 1, and not back to 0.
        if (value > 1 || (value === 0 && this.enableConnectProtocol)) return ERROR.protocol;
        this.enableConnectProtocol = value === 1;
        return ERROR.none;
      case SETTING.noRfc7540Priorities:
        // RFC 9218 2.1: 0 or 1, and not changed after the first frame.
        if (value > 1 || (this.noRfc7540Priorities !== null && this.noRfc7540Priorities !== (value === 1))) return ERROR.protocol;
        this.noRfc7540Priorities = value === 1;
        return ERROR.none;
      default:
        // RFC 9113 6.5.2: unknown settings are ignored.
        return ERROR.none;
    }
  }
}

/** The payload of our SETTINGS frame. */
export function settingsPayload(settings: readonly (readonly [id: number, value: number])[]): Buffer {
  const payload = Buffer.alloc(settings.length * SETTING_BYTES);
  for (const [nth, [id, value]] of settings.entries()) {
    payload.writeUInt16BE(id, nth * SETTING_BYTES);
    payload.writeUInt32BE(value, nth * SETTING_BYTES + 2);
  }
  return payload;
}
