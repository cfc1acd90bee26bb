import { DEFAULT_WINDOW, SETTING, TYPE } from './frames/frame.ts';
import { PREFACE } from './frames/preface.ts';
import { settingsPayload } from './frames/settings.ts';
import type { Output } from './output.ts';
import type { SessionLimits } from './session-owner.ts';

/** What each server announces besides its limits: extended CONNECT (RFC 8441) and priorities as in RFC 9218. */
const OF_SERVER = [[SETTING.enableConnectProtocol, 1] as const, [SETTING.noRfc7540Priorities, 1] as const];

/** Our preface (RFC 9113 3.4): SETTINGS, and a client's window of the connection. A server's is widened for its first upload. */
export function greet(output: Output, limits: SessionLimits): void {
  const common = [
    [SETTING.initialWindowSize, limits.streamWindow],
    [SETTING.maxHeaderListSize, limits.fieldList],
  ] as const;
  const server = [[SETTING.maxConcurrentStreams, limits.streams], ...OF_SERVER] as const;
  if (!limits.isServer) {
    const out = output.room(PREFACE.length);
    output.wrote(output.at + PREFACE.copy(out, output.at));
  }
  const settings = settingsPayload(limits.isServer ? [...common, ...server] : [...common, [SETTING.enablePush, 0]]);
  output.frameOf(TYPE.settings, 0, 0, settings);
  if (!limits.isServer) output.frame(TYPE.windowUpdate, 0, 0, limits.connectionWindow - DEFAULT_WINDOW);
}
