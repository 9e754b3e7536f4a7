/* What offline learning takes: apart from stream.c, because no figure depends on it. */
#include "stream.h"

#include "gpcn.h"

int stream_learn(struct stream *s, struct failure *failure)
{
    size_t versions;
    if (s->method.spec.kind != METHOD_GPCN_OFFLINE || s->learnt == s->method.written)
        return 0;
    double before = method_seconds(&s->method);
    if (gpcn_versions(s->method.model.self, &versions) != BPCN_OK)
        return failed(failure, "%s: %s", method_name(s->method.spec.kind), bpcn_error());
    s->learn_seconds = method_seconds(&s->method) - before;
    s->learnt = s->method.written;
    return 0;
}

void note_learning(const struct stream *s, struct record *record)
{
    if (s->learnt == s->method.written && s->learnt > 0)
        record_set(record, "learn_seconds", s->learn_seconds);
}
