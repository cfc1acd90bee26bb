/** The payloads of `GET /events`, one server-sent event each; `event:` is the kind, `data:` the object. */
export type ServiceEvent =
  | { kind: 'routes'; generation: number; added: string[]; changed: string[]; removed: string[] }
  | { kind: 'upstream'; address: string; id?: string; transport?: string; healthy: boolean; reason: string }
  | { kind: 'worker'; worker: number; state: 'started' | 'replaced' | 'retired' | 'died'; reason: string }
  | { kind: 'controller'; controller: string; connected: boolean }
  | { kind: 'reload'; ok: boolean; errors: string[] };
