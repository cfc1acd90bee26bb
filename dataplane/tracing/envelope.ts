import { NAME } from '../../shared/name.ts';

export type Resource = { readonly serviceName: string; readonly version: string; readonly host: string; readonly pid: number };

/** The text before and after the spans in a request of OTLP (ExportTraceServiceRequest). */
export function envelopeOf({ serviceName, version, host, pid }: Resource): readonly [before: string, after: string] {
  const text = (key: string, stringValue: string) => ({ key, value: { stringValue } });
  const attributes = [
    text('service.name', serviceName),
    text('service.version', version),
    text('host.name', host),
    { key: 'process.pid', value: { intValue: `${pid}` } },
  ];
  const request = { resourceSpans: [{ resource: { attributes }, scopeSpans: [{ scope: { name: NAME, version }, spans: [] }] }] };
  const json = JSON.stringify(request);
  const at = json.lastIndexOf('[]') + 1;
  return [json.slice(0, at), json.slice(at)];
}
