/* A list under a lock, and the thread that looks at it four times a second. */
#include "links.h"

#include "progress.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

/* The request has not arrived, so nothing else is being sent. */
static void end_late(struct link *link)
{
    static const char text[] =
        "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Type: application/json\r\n"
        "Content-Length: 86\r\n\r\n"
        "{\"error\":{\"status\":408,\"message\":\"the request took too long to arrive\",\"where\":null}}\n";
    ssize_t sent = send(link->socket, text, sizeof text - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)sent; /* whether or not somebody reads it */
    shutdown(link->socket, SHUT_RDWR);
    link->busy = true;
}

static void *watch(void *arg)
{
    struct links *l = arg;
    pthread_mutex_lock(&l->lock);
    while (l->watched) {
        double now = seconds_now();
        for (struct link *link = l->first; link != NULL; link = link->next)
            if (!link->busy && now - link->since > l->most)
                end_late(link);
        struct timespec next;
        clock_gettime(CLOCK_REALTIME, &next);
        next.tv_nsec += 250000000;
        next.tv_sec += next.tv_nsec / 1000000000;
        next.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&l->changed, &l->lock, &next);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

int links_begin(struct links *l, double most)
{
    *l = (struct links){.most = most, .watched = true};
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->changed, NULL);
    return pthread_create(&l->thread, NULL, watch, l) == 0 ? 0 : -1;
}

void links_end(struct links *l)
{
    pthread_mutex_lock(&l->lock);
    l->watched = false;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
    pthread_join(l->thread, NULL);
    pthread_mutex_destroy(&l->lock);
    pthread_cond_destroy(&l->changed);
}

struct link *links_add(struct links *l, int socket)
{
    struct link *link = calloc(1, sizeof *link);
    if (link == NULL)
        return NULL;
    pthread_mutex_lock(&l->lock);
    *link = (struct link){.socket = socket, .since = seconds_now(), .next = l->first, .place = &l->first};
    if (l->first != NULL)
        l->first->place = &link->next;
    l->first = link;
    l->count++;
    pthread_mutex_unlock(&l->lock);
    return link;
}

void links_remove(struct links *l, struct link *link)
{
    pthread_mutex_lock(&l->lock);
    *link->place = link->next;
    if (link->next != NULL)
        link->next->place = link->place;
    l->count--;
    pthread_mutex_unlock(&l->lock);
    free(link);
}

void links_request_begins(struct links *l)
{
    pthread_mutex_lock(&l->lock);
    l->requests++;
    pthread_mutex_unlock(&l->lock);
}

void links_request_is_here(struct links *l, struct link *link)
{
    pthread_mutex_lock(&l->lock);
    if (link != NULL)
        link->busy = true;
    pthread_mutex_unlock(&l->lock);
}

void links_request_ends(struct links *l, struct link *link)
{
    pthread_mutex_lock(&l->lock);
    l->requests--;
    if (link != NULL) {
        link->busy = false;
        link->since = seconds_now();
    }
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
}

void links_wait(struct links *l)
{
    pthread_mutex_lock(&l->lock);
    l->stopping = true;
    while (l->requests > 0)
        pthread_cond_wait(&l->changed, &l->lock);
    pthread_mutex_unlock(&l->lock);
}

bool links_stopping(struct links *l)
{
    pthread_mutex_lock(&l->lock);
    bool stopping = l->stopping;
    pthread_mutex_unlock(&l->lock);
    return stopping;
}

size_t links_count(struct links *l)
{
    pthread_mutex_lock(&l->lock);
    size_t count = l->count;
    pthread_mutex_unlock(&l->lock);
    return count;
}
